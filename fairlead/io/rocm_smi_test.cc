// The real way into ROCm SMI, by dlopen, with a library in its place (testing_rocm_smi.cc).

#include "fairlead/io/rocm_smi.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace fairlead {
namespace {

class RocmSmiTest : public testing::Test {
 protected:
  RocmSmiTest() : file_(fmt::format("{}rocm-smi.{}", testing::TempDir(), ::getpid())) {
    ::setenv("FAIRLEAD_TESTING_ROCM_SMI", file_.c_str(), 1);
  }
  ~RocmSmiTest() override {
    ::unsetenv("FAIRLEAD_TESTING_ROCM_SMI");
    std::remove(file_.c_str());
  }
  void say(const std::string& text) const { std::ofstream(file_) << text; }
  static Result<std::unique_ptr<GpuDriver>> load_named(const std::string& library) {
    return load_rocm_smi(std::vector<std::string>{"libnot-there.so", library});
  }
  static std::unique_ptr<GpuDriver> load() {
    auto driver = load_named(FAIRLEAD_TESTING_ROCM_SMI_LIBRARY);
    EXPECT_TRUE(driver) << driver.error().message;
    return driver ? std::move(*driver) : nullptr;
  }

 private:
  std::string file_;
};

constexpr const char* kTwo =
    "gpu 10486128077063867 87 68702699520 1000000001 312500000 AMD Instinct MI250X\n"
    "gpu 0 0 17163091968 0 0 Vega 10 [Radeon Instinct MI25]\n";

TEST_F(RocmSmiTest, NamesGpusAsTheRuntimeDoesOrByNumber) {
  say(kTwo);
  const auto driver = load();
  const auto gpus = driver->gpus();
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].name, "AMD Instinct MI250X");
  EXPECT_EQ(gpus[0].uuid, "GPU-00254113f31a46bb");
  EXPECT_EQ(gpus[1].uuid, "1") << "it has no id";
  EXPECT_STREQ(driver->visible_devices(), "ROCR_VISIBLE_DEVICES");
}

TEST_F(RocmSmiTest, ReportsLoadPowerMemoryAndDevice) {
  say(kTwo);
  const auto driver = load();
  const std::string first = driver->gpus()[0].uuid;
  EXPECT_EQ(driver->busy_percent(first), 87);
  EXPECT_EQ(driver->power_w(first), 312);
  EXPECT_EQ(driver->memory(first), (GpuMemory{.total_mb = 68'702, .used_mb = 1'001}));
  EXPECT_EQ(driver->device("1"), (DeviceNumber{226, 129}));
  EXPECT_EQ(driver->busy_percent("2"), std::nullopt);
  EXPECT_EQ(driver->memory("2"), std::nullopt);
  EXPECT_EQ(driver->device("2"), std::nullopt);
  say(std::string(kTwo) + "fail rsmi_dev_busy_percent_get 2\nfail rsmi_dev_power_ave_get 2\n");
  EXPECT_EQ(driver->busy_percent(first), std::nullopt);
  EXPECT_EQ(driver->power_w(first), std::nullopt);
}

TEST_F(RocmSmiTest, ReportsTheProcessesOfEachGpu) {
  say(std::string(kTwo) + "process 4242 0 1\nprocess 77 1\n");
  const auto driver = load();
  EXPECT_EQ(driver->processes(driver->gpus()[0].uuid), std::vector<pid_t>{4242});
  EXPECT_EQ(driver->processes("1"), (std::vector<pid_t>{4242, 77}));
  EXPECT_EQ(driver->processes("2"), std::nullopt);
}

TEST_F(RocmSmiTest, ReportsWhichGpusAreOutOfService) {
  say(kTwo);
  const auto driver = load();
  const std::string first = driver->gpus()[0].uuid;
  EXPECT_EQ(driver->error(first), "");
  EXPECT_EQ(driver->error("2"), "the AMD driver no longer lists it");
  say(std::string(kTwo) + "fail rsmi_dev_memory_usage_get 3\n");
  EXPECT_EQ(driver->error(first), "the AMD driver has an error for it (ROCm SMI error 3)");
  say(std::string(kTwo) + "fail rsmi_dev_memory_usage_get 2\n");
  EXPECT_EQ(driver->error(first), "") << "it has no such query";
}

TEST_F(RocmSmiTest, ErrorsAreNamed) {
  EXPECT_EQ(load_named("libnor-that.so").error().message,
            "no AMD driver is installed: libnot-there.so does not exist");
  EXPECT_EQ(load_named("libc.so.6").error().message, "libc.so.6 is not a supported ROCm SMI");
  EXPECT_EQ(load_named(FAIRLEAD_TESTING_ROCM_SMI_LIBRARY).error().message,
            "the AMD driver does not answer (ROCm SMI error 8)");
}

}  // namespace
}  // namespace fairlead
