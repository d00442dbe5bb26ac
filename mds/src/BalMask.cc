// -*- mode:C++; tab-width:8; c-basic-offset:2; indent-tabs-mode:t -*-
// vim: ts=8 sw=2 smarttab
// SPDX-License-Identifier: LGPL-2.1-or-later

#include "BalMask.h"

#include <charconv>

namespace {

/// The number that is all of text.
bool to_number(std::string_view text, int base, unsigned *number)
{
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number, base);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_hex(std::string_view digits, BalMask::ranks_t *ranks)
{
  if (digits.empty() || digits.size() > MAX_MDS / 4)
    return false;
  for (size_t i = 0; i < digits.size(); i++) {
    unsigned nibble;
    if (!to_number(digits.substr(digits.size() - 1 - i, 1), 16, &nibble))
      return false;
    for (unsigned bit = 0; bit < 4; bit++)
      ranks->set(4 * i + bit, nibble & (1 << bit));
  }
  return true;
}

bool parse_list(std::string_view text, BalMask::ranks_t *ranks)
{
  while (true) {
    const auto comma = text.find(',');
    unsigned rank;
    if (!to_number(text.substr(0, comma), 10, &rank) || rank >= MAX_MDS)
      return false;
    ranks->set(rank);
    if (comma == text.npos)
      return true;
    text.remove_prefix(comma + 1);
  }
}

} // anonymous namespace

bool BalMask::parse(std::string_view text, ranks_t *ranks, std::string *why)
{
  ranks->reset();
  if (text == "-1")
    return true;
  const bool is_hex = text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X";
  if (is_hex ? !parse_hex(text.substr(2), ranks) : !parse_list(text, ranks))
    *why = "neither a list of ranks below 256 (0,1,3), nor hexadecimal (0x3), nor -1";
  else if (ranks->none())
    *why = "it has no rank in it";
  return why->empty();
}

std::string BalMask::to_string(const ranks_t& ranks)
{
  std::string text;
  for (unsigned rank = 0; rank < ranks.size(); rank++)
    if (ranks.test(rank))
      text += (text.empty() ? "" : ",") + std::to_string(rank);
  return text;
}

void BalMask::keep(const xattrs_t *before, xattrs_t& after)
{
  after.erase(XATTR);
  if (!before)
    return;
  if (auto it = before->find(XATTR); it != before->end())
    after.insert(*it);
}

bool BalMask::of(const xattrs_t& xattrs, ranks_t *ranks)
{
  auto it = xattrs.find(XATTR);
  std::string why;
  // of no bytes there is no buffer: a stock MDS takes that from any client that creates a directory
  return it != xattrs.end() && it->second.length() &&
    parse(std::string_view(it->second.c_str(), it->second.length()), ranks, &why) && ranks->any();
}
