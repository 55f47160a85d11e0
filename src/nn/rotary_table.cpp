#include "nn/rotary_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tilewright::nn {
namespace {

// base^(2i/d) in f32, as the reference computes it.
std::vector<float> powers(double base, std::int64_t head_dim) {
  std::vector<float> out(static_cast<std::size_t>(head_dim / 2));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    // The double power rounded once: within one ulp of every f32 power, on every machine the same.
    out[i] = static_cast<float>(std::pow(static_cast<double>(static_cast<float>(base)), static_cast<double>(exponent)));
  }
  return out;
}

std::vector<float> reciprocals(std::vector<float> values) {
  for (float& v : values) v = 1.0f / v;
  return values;
}

double dynamic_base(const DecoderConfig& c, std::int64_t length) {
  const double d = static_cast<double>(c.head_dim);
  const double positions = static_cast<double>(c.max_positions);
  const double stretched = c.rope.factor * static_cast<double>(std::max(length, c.max_positions)) / positions;
  return c.rope.theta * std::pow(stretched - (c.rope.factor - 1), d / (d - 2));
}

std::vector<float> yarn(const DecoderConfig& c) {
  const RopeConfig& r = c.rope;
  const std::vector<float> freqs = powers(r.theta, c.head_dim);
  const double d = static_cast<double>(c.head_dim);
  const auto correction = [&](double rotations) {
    return d * std::log(r.original_positions / (rotations * 2 * std::numbers::pi)) / (2 * std::log(r.theta));
  };
  double low = correction(r.beta_fast), high = correction(r.beta_slow);
  if (r.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, d - 1);
  if (low == high) high += 0.001;
  std::vector<float> out(freqs.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float ramp =
        std::clamp((static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low), 0.0f, 1.0f);
    const float extrapolated = 1.0f / freqs[i];
    const float interpolated = 1.0f / (static_cast<float>(r.factor) * freqs[i]);
    const float keep = 1.0f - ramp;
    out[i] = interpolated * (1.0f - keep) + extrapolated * keep;
  }
  return out;
}

std::vector<float> llama3(const DecoderConfig& c) {
  const RopeConfig& r = c.rope;
  std::vector<float> out = reciprocals(powers(r.theta, c.head_dim));
  const float context = static_cast<float>(r.original_positions);
  const float low = static_cast<float>(r.low_freq_factor), high = static_cast<float>(r.high_freq_factor);
  const float longest = static_cast<float>(r.original_positions / r.low_freq_factor);
  const float shortest = static_cast<float>(r.original_positions / r.high_freq_factor);
  const float factor = static_cast<float>(r.factor);
  for (float& f : out) {
    const float wavelength = static_cast<float>(2 * std::numbers::pi) / f;
    if (wavelength > longest) {
      f = f / factor;
    } else if (!(wavelength < shortest)) {
      const float smooth = (context / wavelength - low) / (high - low);
      f = (1.0f - smooth) * f / factor + smooth * f;
    }
  }
  return out;
}

}  // namespace

std::vector<float> inverse_frequencies(const DecoderConfig& c, std::int64_t length) {
  switch (c.rope.type) {
    case RopeType::plain:
      break;
    case RopeType::linear: {
      std::vector<float> out = reciprocals(powers(c.rope.theta, c.head_dim));
      for (float& f : out) f /= static_cast<float>(c.rope.factor);
      return out;
    }
    case RopeType::dynamic:
      return reciprocals(powers(dynamic_base(c, length), c.head_dim));
    case RopeType::yarn:
      return yarn(c);
    case RopeType::llama3:
      return llama3(c);
  }
  return reciprocals(powers(c.rope.theta, c.head_dim));
}

RotaryTable rotary_table(const DecoderConfig& c, const std::vector<float>& frequencies, std::int64_t first,
                         std::int64_t count, DType dtype) {
  RotaryTable out{HostTensor(DType::f32, {count, c.head_dim}), HostTensor(DType::f32, {count, c.head_dim})};
  const float scale = static_cast<float>(c.rope.attention_factor);
  const std::size_t half = frequencies.size();
  for (std::int64_t row = 0; row < count; ++row) {
    float* cos = out.cos.data<float>() + row * c.head_dim;
    float* sin = out.sin.data<float>() + row * c.head_dim;
    for (std::size_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(first + row) * frequencies[i];
      cos[i] = cos[i + half] = std::cos(angle) * scale;
      sin[i] = sin[i + half] = std::sin(angle) * scale;
    }
  }
  if (dtype != DType::f32) {
    out.cos = out.cos.cast(dtype);
    out.sin = out.sin.cast(dtype);
  }
  return out;
}

}  // namespace tilewright::nn
