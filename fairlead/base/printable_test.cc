#include "fairlead/base/printable.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Printable, OtherTextStaysAsItIs) {
  for (const char* text : {"", "train.py", "Größe 10 µm", "学習 😀", "שלום", "a\xffz"}) {
    EXPECT_TRUE(is_printable(text)) << text;
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, ControlCharactersAndDirectionsAreReplaced) {
  EXPECT_EQ(printable("a\x1b[2Jb\n\x7f"), "a?[2Jb??");
  EXPECT_EQ(printable("a\u0085b\u009bc"), "a?b?c");
  EXPECT_EQ(printable("\u202egpj.exe\u202c"), "?gpj.exe?");
  for (const char* text : {"\u061c", "\u200e", "\u200f", "\u202a", "\u2066", "\u2069", "\x01"}) {
    EXPECT_FALSE(is_printable(text));
    EXPECT_EQ(printable(text), "?");
  }
  EXPECT_TRUE(is_printable("\u200d\u2065\u206a\u2029"));  // beside them
}

}  // namespace
}  // namespace fairlead
