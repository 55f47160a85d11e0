#include "report/page/page_frame.h"

#include <fmt/format.h>

#include "report/charts/chart_style.h"
#include "report/charts/markup.h"

namespace tilewright::report {
namespace {

constexpr const char* kStyle = R"(*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0 auto;padding:1rem;max-width:62rem;font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;
color:var(--ink);background:var(--ground);overflow-wrap:anywhere}
a{color:var(--link)}
h1{font-size:1.7rem;line-height:1.2;margin:.4rem 0 .2rem}
h2{font-size:1.35rem;line-height:1.25;margin:2.6rem 0 .4rem;padding-top:.8rem;border-top:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.8rem 0 .3rem}
p{margin:.4rem 0}
.lead{color:var(--faint)}
.notice{border-left:4px solid var(--orange);background:var(--box);padding:.5rem .8rem;margin:.8rem 0}
.notice.bad{border-color:var(--bad)}
ul.short{padding-left:1.2rem;margin:.6rem 0}
.headline strong{font-size:1.1rem}
figure{margin:.6rem 0 1rem}
figcaption{color:var(--faint);font-size:.9em}
.scroll{overflow-x:auto;margin:.5rem 0 1rem;border:1px solid var(--line);border-radius:6px}
table{border-collapse:collapse;width:100%;font-size:.92em;overflow-wrap:normal}
th,td{padding:.38rem .7rem;text-align:left;vertical-align:top;border-top:1px solid var(--line)}
thead th{border-top:0;background:var(--box);color:var(--faint);font-weight:600;vertical-align:bottom}
tbody th{font-weight:600;white-space:nowrap;position:sticky;left:0;background:var(--ground)}
td.number,th.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
thead th.number{white-space:normal}
.good{color:var(--good)}.caution{color:var(--caution)}.bad{color:var(--bad);font-weight:600}.faint{color:var(--faint)}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.25rem 1rem;margin:.6rem 0}
dt{color:var(--faint)}dd{margin:0}
code,pre{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;font-size:.9em}
.failure{border:1px solid var(--line);border-left:4px solid var(--bad);border-radius:6px;padding:.2rem .9rem .5rem;margin:.8rem 0}
.failure.caution{border-left-color:var(--orange);color:inherit}
.failure h4{margin:.5rem 0 0;font-size:1rem}
footer{margin-top:3rem;color:var(--faint);font-size:.9em;border-top:1px solid var(--line);padding-top:.6rem}
@media (max-width:34rem){body{padding:.75rem;font-size:15px}dl{grid-template-columns:1fr;gap:0}dd{margin:0 0 .5rem}
th,td{padding:.32rem .5rem}}
@media print{body{max-width:none;padding:0;font-size:10pt}.scroll{overflow:visible;border:0}table{font-size:8pt}
th,td{padding:.2rem .35rem}tbody th{position:static;white-space:normal}h2{break-after:avoid;margin-top:1.2rem}h3,h4{break-after:avoid}
figure,tr,.failure,dl,.scroll{break-inside:avoid}svg,svg *,.notice,thead th{print-color-adjust:exact;-webkit-print-color-adjust:exact}
svg text{font-size:9pt}}
)";

}  // namespace

std::string page_frame(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      escaped(title), chart_style(), kStyle, body);
}

std::string html_heading(int level, const std::string& text) {
  return fmt::format("<h{0}>{1}</h{0}>\n", level, escaped(text));
}

std::string html_paragraph(const std::string& text, const std::string& css) {
  return fmt::format("<p{}>{}</p>\n", css.empty() ? "" : " class=\"" + css + "\"", escaped(text));
}

std::string html_facts(const Facts& facts) {
  std::string out = "<dl>\n";
  for (const auto& [name, text] : facts) {
    const bool code = name == "command";
    out += "<dt>" + escaped(name) + "</dt><dd>" + (code ? "<code>" : "") + escaped(text) + (code ? "</code>" : "") +
           "</dd>\n";
  }
  return out + "</dl>\n";
}

std::string html_list(const std::vector<std::string>& items) {
  std::string out = "<ul class=\"short\">\n";
  for (const std::string& item : items) out += "<li>" + escaped(item) + "</li>\n";
  return out + "</ul>\n";
}

std::string html_figure(const std::string& chart, const std::string& caption) {
  return "<figure>\n" + chart + "<figcaption>" + escaped(caption) + "</figcaption>\n</figure>\n";
}

}  // namespace tilewright::report
