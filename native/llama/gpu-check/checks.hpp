// What the checks share: random tokens, comparisons, a line for each outcome.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "../core/model.hpp"

namespace precedent {

inline std::vector<Token> randomTokens(std::mt19937_64& random, const Model& model, int count) {
  std::uniform_int_distribution<int> token(0, std::min(model.facts().vocabulary, 256) - 1);
  std::vector<Token> tokens(static_cast<size_t>(count));
  for (Token& one : tokens) one = token(random);
  return tokens;
}

// Three chunks and a question in which each chunk depends on the others: a vocabulary of made-up
// words, words put together, and more of them. Without the first chunk the others are
// unpredictable, so chunks computed alone are far from right.
inline std::vector<std::string> dictionary(std::mt19937_64& random) {
  std::vector<std::string> words{"zaf", "mip", "tol", "kug", "ren", "dov", "lib", "gat", "pem", "sur"};
  std::vector<std::string> meanings{"red", "blue", "green", "white", "black", "yellow", "brown", "pink", "grey", "orange"};
  std::shuffle(words.begin(), words.end(), random);
  std::shuffle(meanings.begin(), meanings.end(), random);
  const size_t known = 5;
  const auto line = [&](size_t length) {
    std::string from, to;
    for (size_t i = 0; i < length; ++i) {
      const size_t word = std::uniform_int_distribution<size_t>(0, known - 1)(random);
      from += " " + words[word];
      to += " " + meanings[word];
    }
    return "word:" + from + " ->" + to + "\n";
  };
  std::vector<std::string> texts(4);
  texts[0] = "Instruction: translate each word.\n";
  for (size_t word = 0; word < known; ++word) texts[0] += "word: " + words[word] + " -> " + meanings[word] + "\n";
  for (int lines = 0; lines < 4; ++lines) texts[1] += line(2);
  for (int lines = 0; lines < 3; ++lines) texts[2] += line(3);
  for (int lines = 0; lines < 2; ++lines) texts[3] += line(3);
  return texts;
}

// Quantised weights round activations to 8 bits, in steps.
inline bool isQuantised(const Model& model) {
  const std::string& description = model.facts().description;
  return description.find("F32") == std::string::npos && description.find("F16") == std::string::npos;
}

inline std::vector<Token> joined(const std::vector<std::vector<Token>>& parts) {
  std::vector<Token> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

inline std::vector<float> flattened(const std::vector<std::vector<float>>& rows) {
  std::vector<float> flat;
  for (const auto& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  return flat;
}

// Largest logit, whatever its sign.
inline double largestOf(const std::vector<std::vector<float>>& rows) {
  float largest = 0;
  for (const float value : flattened(rows)) largest = std::max(largest, std::fabs(value));
  return largest;
}

// Largest difference of two logits; infinite where one is not finite or sizes differ.
inline double difference(const std::vector<std::vector<float>>& rows, const std::vector<float>& flat) {
  size_t at = 0;
  double largest = 0;
  for (const auto& row : rows)
    for (const float value : row) {
      if (at >= flat.size() || !std::isfinite(value) || !std::isfinite(flat[at])) return INFINITY;
      largest = std::max<double>(largest, std::fabs(value - flat[at++]));
    }
  return at == flat.size() && at > 0 ? largest : INFINITY;
}

// Mean over the rows of KL(rows || flat), in nats; infinite as above.
inline double divergence(const std::vector<std::vector<float>>& rows, const std::vector<float>& flat) {
  if (!std::isfinite(difference(rows, flat))) return INFINITY;
  double sum = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::vector<float>& one = rows[i];
    const float* other = flat.data() + i * one.size();
    const double topOne = *std::max_element(one.begin(), one.end()), topOther = *std::max_element(other, other + one.size());
    double totalOne = 0, totalOther = 0;
    for (size_t j = 0; j < one.size(); ++j) {
      totalOne += std::exp(one[j] - topOne);
      totalOther += std::exp(other[j] - topOther);
    }
    const double shift = (topOther + std::log(totalOther)) - (topOne + std::log(totalOne));
    for (size_t j = 0; j < one.size(); ++j) sum += std::exp(one[j] - topOne) / totalOne * (one[j] - other[j] + shift);
  }
  return sum / static_cast<double>(rows.size());
}

class Outcomes {
 public:
  // Holds when `found` is at most `allowed`; 0 is bit for bit.
  void atMost(const std::string& what, double found, double allowed) {
    const bool holds = found <= allowed;
    std::printf("%s %-72s %.3g (at most %.3g)\n", holds ? "ok  " : "FAIL", what.c_str(), found, allowed);
    failed_ += holds ? 0 : 1;
  }
  // Holds when `found` is at least `wanted`: that a difference is seen where there is one.
  void atLeast(const std::string& what, double found, double wanted) {
    const bool holds = found >= wanted;
    std::printf("%s %-72s %.3g (at least %.3g)\n", holds ? "ok  " : "FAIL", what.c_str(), found, wanted);
    failed_ += holds ? 0 : 1;
  }
  int failed() const { return failed_; }

 private:
  int failed_ = 0;
};

}  // namespace precedent
