// Exp() against true values, computed once with 400 bits (mpmath) and rounded to the nearest double.

#include "common/base/exp.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace cobblestone {
namespace {

struct Value {
  std::uint64_t x;    // bits of the argument
  std::uint64_t exp;  // bits of e^x
};

// Fixed points, tiny arguments, the range of recent averages (-1 to 0), -50 to 50, the whole range, subnormal
// results.
constexpr Value kTrueValues[] = {
    {0x3fe0000000000000, 0x3ffa61298e1e069c}, {0xbfe0000000000000, 0x3fe368b2fc6f960a},
    {0x3ff0000000000000, 0x4005bf0a8b145769}, {0xbff0000000000000, 0x3fd78b56362cef38},
    {0x4000000000000000, 0x401d8e64b8d4ddae}, {0xc000000000000000, 0x3fc152aaa3bf81cc},
    {0x3cb0000000000000, 0x3ff0000000000001}, {0xbcb0000000000000, 0x3feffffffffffffe},
    {0x3e10000000000000, 0x3ff0000000400000}, {0xbc30000000000000, 0x3ff0000000000000},
    {0x40862e42fefa39ef, 0x7fefffffffffff2a}, {0xc086232bdd7abcd2, 0x001000000000007c},
    {0xc086232bdd7abcd3, 0x000ffffffffffe7c}, {0xc0874910d52d3051, 0x0000000000000001},
    {0xc087440000000000, 0x0000000000000001}, {0xc087200000000000, 0x0000000000000055},
    {0xc086820000000000, 0x000000077564144f}, {0xbfe62e42fefa39ef, 0x3fe0000000000000},
    {0x3fe62e42fefa39ef, 0x4000000000000000}, {0xbfee0901fe1b70a0, 0x3fd90903f5aac31c},
    {0xbfc65b48b47eaa08, 0x3feadf2a47ee2acf}, {0xbfd64e50ae508c3c, 0x3fe6954c16b47f9d},
    {0xbfe37e26645426ec, 0x3fe166eb4a6286eb}, {0xbfd599c2c0970de2, 0x3fe6d55c44ce9a3b},
    {0xbf708847ebd8a580, 0x3fefdf007f60402e}, {0xbfc720b3c2909404, 0x3feab5d83cf4db86},
    {0xbfd7241852cdd0d8, 0x3fe64a5a344bcab1}, {0xbfc5d94cb2a095ec, 0x3feafa81f80afe69},
    {0xbfe30bf69d74cbf9, 0x3fe1a5733a6354c6}, {0xbfd931e942cf168a, 0x3fe5961fd6765950},
    {0xbfd60546a4d0f204, 0x3fe6af20a69f360b}, {0xbfecd275c476293a, 0x3fda00a2f1d611f3},
    {0xbfcf555f068b4aec, 0x3fe90d3e7ecc5ecf}, {0xbfed6096704f9e0f, 0x3fd98e24918d4159},
    {0xbfde01a158a1641a, 0x3fe405e99c091697}, {0xbfd4ff8ba1306f92, 0x3fe70ca3d48b64a0},
    {0xbfb78854e76082c8, 0x3fed308881da05cf}, {0xbfe5bb3950d71c67, 0x3fe039ecb6cb0327},
    {0xbfd7b62af0050aa6, 0x3fe617b3fdc9f748}, {0xbfed1c6ae967b21c, 0x3fd9c4cf88278c1e},
    {0xbfe0abb7eb00a404, 0x3fe301a1750c5bc8}, {0xbfeb9617079e526e, 0x3fdb06bd8697416c},
    {0xbfe49ff23db9c109, 0x3fe0cc1434f41ef8}, {0xbf99d8a09bd3c460, 0x3fef33d16c03d7af},
    {0xbfc905447de1b144, 0x3fea5178e485ead7}, {0xbfe3bb7de0b3554a, 0x3fe145af6b168712},
    {0xbfc0f29794350cc0, 0x3fec08172f0f24c1}, {0xbfe3d809dad80398, 0x3fe1364dc1464d12},
    {0xbfead08c667b627b, 0x3fdbaf9b3a777619}, {0xbfd7b8d1f71a5658, 0x3fe616c99cb9d198},
    {0xbfd7eb272b13df98, 0x3fe6057139fa80b8}, {0xbfdbcb1ea77444fe, 0x3fe4ba4057a127cc},
    {0xbfe2a8be1ea4c355, 0x3fe1dc7f69ae8518}, {0xbfec673a61d649ec, 0x3fda5857f5f12d79},
    {0xbfdba177c21f978c, 0x3fe4c7c21ae906b6}, {0xbfe09c02c814321a, 0x3fe30af8193f3f6c},
    {0xbfcc0ef91990d3cc, 0x3fe9b373271cdebd}, {0xbfe619be43f30703, 0x3fe00a45a83bc316},
    {0xbfcf3fdcbe07cb54, 0x3fe91174854273bc}, {0xbfddf29125ae1a72, 0x3fe40aa09e3a3bca},
    {0xbfe0dd4041e3db60, 0x3fe2e44cb48228c5}, {0xbfd9570743dbf448, 0x3fe5899e8dfbd63f},
    {0xbfdd8781f0ee6992, 0x3fe42c433fdf3789}, {0xbfeb78a526a4be89, 0x3fdb1fa744a4dd08},
    {0xbfdffb42ecb395f0, 0x3fe36a22ec490383}, {0xbfe7b79b5172f93d, 0x3fde7ff2f32237d6},
    {0xbfe9e4bc6b11299b, 0x3fdc7e97c7349422}, {0xbfe631f7b44d2e36, 0x3fdffc4b819a2aa2},
    {0xbfd91c3fc0f176b6, 0x3fe59d6f81d0fca4}, {0xbfdd865e32bf242c, 0x3fe42c9f35e4e550},
    {0xbfefbe14893e1664, 0x3fd7bc089303a921}, {0xbfefa1601f661545, 0x3fd7d15c7a1bf7b4},
    {0xbfb8949a25c8c150, 0x3fed1201cf2d32ef}, {0xbfee6ed7853aa61d, 0x3fd8b9d6b1dd2173},
    {0xbfed934e5cc42a14, 0x3fd965c39eef314e}, {0xbfd0f083d00fb958, 0x3fe88ef6a81dc585},
    {0xbfe2753715939d4b, 0x3fe1f95968630cb2}, {0xbfd7f4468bd33a68, 0x3fe6024de363e10a},
    {0xbfe9e006eeeece8c, 0x3fdc82c983bfc1b5}, {0xbfd3b4f66282deec, 0x3fe784e852b45b49},
    {0xbf9f4ecdbcef6ce0, 0x3fef0953d6553cb4}, {0xbfedcdef52b5e0dc, 0x3fd93765f2d2b0be},
    {0xbfecee30ee2a7877, 0x3fd9ea2413760dd4}, {0xbfc14518969fa540, 0x3febf60b90f6c39d},
    {0xbfe86fdc3e78602f, 0x3fddd24b2ea319f9}, {0xbfe24c4e3ed28dec, 0x3fe2106296f63711},
    {0xbfe1d3cf7482e075, 0x3fe254e84ce33be5}, {0xbfe098d4831fccdb, 0x3fe30cdcc164df63},
    {0xbfe5fb071aabebe1, 0x3fe019b27ef3433d}, {0xbfe12278f20e3928, 0x3fe2bb9b0b0a7fa2},
    {0xbfde6d6299c5fc66, 0x3fe3e44f94afd1ce}, {0xbfea7e50f1f7ceeb, 0x3fdbf71c615f9766},
    {0xbfb9a7bafa719ee0, 0x3fecf2d480aaff0d}, {0xbfe85718396012ae, 0x3fdde968847695a7},
    {0xbfb055ab6c2f2d58, 0x3fee059e553a3b9c}, {0xbfd37ba539f945de, 0x3fe79a01f61c5182},
    {0xbfe7cc3bd6559574, 0x3fde6c5051a398a1}, {0xbfd00b6d85325c44, 0x3fe8e77cd17a449f},
    {0xbf983568f2b00320, 0x3fef409a2fe2fd92}, {0xbfa4d7f07fb9e850, 0x3feeb9336edc3429},
    {0xbfe3230360f03ba9, 0x3fe198c1d88d8e35}, {0xbfc5d63e3a0cda00, 0x3feafb26e5df1d1c},
    {0xbfe3ede8ebbf7bb5, 0x3fe12a8e27006075}, {0xbfec6442aaea454e, 0x3fda5ac988f1b716},
    {0xbfec5e0907ed1d3a, 0x3fda5fea86608b46}, {0xbfe958e67ddb5366, 0x3fdcfc2dc60f84c9},
    {0xbfec7247fa603e54, 0x3fda4f3ff860f78e}, {0xbfe2048adaf4fcfe, 0x3fe23912cc941631},
    {0xbfbd3183af59f430, 0x3fec8d1bbc5b2510}, {0xbfe7554f69f849ec, 0x3fdede339c5bfbad},
    {0xbfe367209ba1695f, 0x3fe17374eac676c0}, {0xbfe6c8981f310471, 0x3fdf671cb66694de},
    {0xbfe5aa56793993bf, 0x3fe0427ef6518b22}, {0xbfe595276376e234, 0x3fe04d46173c2ae6},
    {0xbfefc4f3e2feff07, 0x3fd7b6f0349037fa}, {0xbfd35c67b07fc198, 0x3fe7a58a10d2fb9b},
    {0xbfe4f86ab10bae03, 0x3fe09de3ba907d0d}, {0xbfdfa8bec89c9722, 0x3fe3833b28d7636c},
    {0xbfee0929bb06876f, 0x3fd908e4def45a04}, {0xbfa7a8fc539a0cf0, 0x3fee8e0d5571d411},
    {0xbfe66281e622abad, 0x3fdfcbeba8205ceb}, {0xbfe46157ec3d964a, 0x3fe0ed10d6c30cce},
    {0xbfe6562618cf1a96, 0x3fdfd835b7c78619}, {0xbfaabd25a71913e0, 0x3fee5f285ee98401},
    {0xbfe0f45754dcb108, 0x3fe2d6afe7ef1143}, {0xbfa6736ec2436930, 0x3feea08c1a082474},
    {0xbfc9b3b6e6379e34, 0x3fea2db304306603}, {0xbfe9d2003ce8c881, 0x3fdc8f4b709390c8},
    {0xbfcbcb8902a86840, 0x3fe9c10128cb203d}, {0xbfe4b6b8af993dd3, 0x3fe0c023fca58253},
    {0xbfe03d1d4b2e0050, 0x3fe343c4f1c5df24}, {0xbfe166d9a2bf14a8, 0x3fe293be6d1e1a56},
    {0xbfc51980b4c02aa4, 0x3feb230d1d511205}, {0xbfecd872712e85c3, 0x3fd9fbc5fb7de7c3},
    {0xbfd1744d2163adfa, 0x3fe85c98b43507da}, {0xbfef2f7e36c9630c, 0x3fd826b775b7f6e3},
    {0xbfe0beaa8c531ff0, 0x3fe2f663c260431c}, {0xbfe828cb220fdfee, 0x3fde14cf78d81ac8},
    {0xbfe8a850ef49b52d, 0x3fdd9ddcb9d20a5c}, {0xbe46f9a27ba24bf1, 0x3feffffffa419762},
    {0xbf1b13273c345274, 0x3fefff2769a3239d}, {0xbf3b0d31e944c13d, 0x3feffc9e877dce5d},
    {0xbef4346e33147485, 0x3fefffd7973d1d8c}, {0xbfa8a5b9f879be69, 0x3fee7efbd2031604},
    {0xbe91eb3c4c13d51b, 0x3fefffff70a61ee0}, {0xbea61380b9f67fec, 0x3feffffe9ec7fbfe},
    {0xbf122f4766a5cd38, 0x3fefff6e870f77a2}, {0xbf0ee6cfb0f60e5d, 0x3fefff8465aff526},
    {0xbf9fc20ffd2b65fe, 0x3fef05d5ba714bc3}, {0xbf87954fd08d9052, 0x3fefa235435cda49},
    {0xbfdcc2e9c9455cdd, 0x3fe46a9a51dc1a97}, {0xbedac607fb53a3b5, 0x3feffff29cfecf29},
    {0xbfb332f997d7bcd5, 0x3fedb019c9d4ae7c}, {0xbf451584bf505104, 0x3feffabb0dec77ac},
    {0xbfe428abcac68fa1, 0x3fe10b255b26d2ac}, {0xbe8078679dde4290, 0x3fefffffbe1e61cc},
    {0xbf2235572f68df90, 0x3feffedcafbb2739}, {0xbe64c043cd9e72bd, 0x3fefffffeb3fbc39},
    {0xbfe8bfef71987919, 0x3fdd88089e6810a2}, {0xbf8f00841c8b3316, 0x3fef84ed02573fe8},
    {0xbe7bdec171879e8a, 0x3fefffffc8427d4d}, {0xbeab65685fed21bf, 0x3feffffe49a985bb},
    {0xbe72baad1a9a4074, 0x3fefffffda8aa5e1}, {0xbf782ecdaa8bfc73, 0x3fefcfc6df39a719},
    {0xbfa8803857c7d5bb, 0x3fee8137ccb972ce}, {0xbe2c55a8407d288a, 0x3feffffffe3aa57c},
    {0xbe1f712ba735a33f, 0x3fefffffff0476a3}, {0xbf064594aefedda1, 0x3fefffa6ea2945af},
    {0xbf7db4d32807825b, 0x3fefc4cd5f1683a6}, {0xbedf20a0ae129739, 0x3feffff06fb371e1},
    {0xbf067e39446a386a, 0x3fefffa6079969e6}, {0xbec2301fbcbea76f, 0x3feffffb73f86384},
    {0xbf28d00c7ece8665, 0x3feffe7308d69900}, {0xbe969f1eb0166dab, 0x3fefffff4b070c7f},
    {0xbfce5204323295f8, 0x3fe94034a1caf46b}, {0xbf197ddbe7045b60, 0x3fefff3413aa954c},
    {0xbf85a6a8947e7581, 0x3fefa9da25468f6f}, {0xbe7be6b89a692bbc, 0x3fefffffc8328efc},
    {0xbfb62d3b61709544, 0x3fed5837149b8caf}, {0xbea7c576301cdeda, 0x3feffffe83a8a5d3},
    {0xbe9f7d5cbc653a5a, 0x3fefffff04151dfc}, {0xbf336456290caade, 0x3feffd938cbb085a},
    {0xbf13a0de6a8c2d82, 0x3fefff62fa8def43}, {0xbee0263517011aeb, 0x3fefffefd9cefc30},
    {0xbef082bb9eece9fd, 0x3fefffdefa99cbc4}, {0xbe91d50b5fcc6aa1, 0x3fefffff7157a640},
    {0xbfcd12a41d7f858c, 0x3fe97f847495159d}, {0xbf2f0c859b30b065, 0x3feffe0f46b622e5},
    {0xbedbe9c3b665c731, 0x3feffff20b212ff1}, {0xbe4acec62b96f62b, 0x3feffffff94c4e76},
    {0xbec2dea1d205680e, 0x3feffffb4857e483}, {0xbe4c69870d2689ea, 0x3feffffff8e59e3e},
    {0xbf36e3d0f6715672, 0x3feffd23a69f6269}, {0xbf93ead02e5ff3c3, 0x3fef6233a198d513},
    {0xbe558c7366963770, 0x3feffffff539c64f}, {0xbf9990e6d7d3fdda, 0x3fef3601007760d2},
    {0xbe17ffa418f5d2d1, 0x3fefffffff4002df}, {0xbec21ac025c49f93, 0x3feffffb79504880},
    {0xbe828cb95eb7ce44, 0x3fefffffb5cd1adb}, {0xbf0268a513bb1db6, 0x3fefffb65dc06952},
    {0xbe4284b1bad42e3b, 0x3feffffffb5ed392}, {0xbf617e17f070031a, 0x3fefee86af25cec4},
    {0xbe9a7e605f3d902c, 0x3fefffff2c0cffc4}, {0xbfabfce9045b3043, 0x3fee4c3669976a93},
    {0xbe4522246d890e6d, 0x3feffffffab776e5}, {0xbf4f159fd913cf19, 0x3feff83b8985d0eb},
    {0xbe9c587c2f5344ce, 0x3fefffff1d3c21a9}, {0xbfedcc15aa079caa, 0x3fd938db3d646084},
    {0xbe29bcff6f324553, 0x3feffffffe643009}, {0xbf15902099e454a2, 0x3fefff5380cc2418},
    {0xbe8df4101032ecaf, 0x3fefffff882fc0a0}, {0xbe9ced1c72ddda52, 0x3fefffff18971fae},
    {0xbe843fffba4481b0, 0x3fefffffaf00017d}, {0xbef4ccf87ce6a86a, 0x3fefffd6662a10d6},
    {0xbf3690c2174aa8e1, 0x3feffd2e078f5abd}, {0xbecd2fbd3e765790, 0x3feffff8b4118559},
    {0xbf8076b1ab9ecf40, 0x3fefbe68ce3cd37d}, {0xbf28ccd1bb16ff46, 0x3feffe733c8053a0},
    {0xbf9fc5469667009b, 0x3fef05bccea7cfa6}, {0xc02dc0268705bbc0, 0x3e97415ade81ae2a},
    {0xc03f4df6da8c8093, 0x3d1c953d87424420}, {0x4043c7391ceb8754, 0x4380c548d180170c},
    {0xc03084f80457dc3a, 0x3e71f85b3e319863}, {0x4046fedd8a7c9610, 0x441468e2a985aacf},
    {0xc033061b27449e9c, 0x3e377f2498b2107a}, {0x403c8c255c98fac0, 0x4282313bbf9b2f65},
    {0xc03da4669f9d8e1c, 0x3d42d5ce9394f374}, {0xc034f83be5e3c1c1, 0x3e0adb1f73cd719a},
    {0x400aa1df21976600, 0x403be95835d746e2}, {0xc048d55e4f71cd86, 0x3b74553f60df461f},
    {0xc03b437de5207be2, 0x3d7966f740ad70f1}, {0xc0431ccc5f228760, 0x3c7ce66ac7328518},
    {0x4029e16efd5d7554, 0x41197018deb45119}, {0xc010bb21ae4379a8, 0x3f8f3ed4e4793b4f},
    {0xc02f499b3a26f928, 0x3e859169797391b0}, {0xc03e712d15de7bd4, 0x3d30ed92f984b287},
    {0x4042d9ae3fd7505c, 0x4354f946f8f09953}, {0x40348ffe1c789928, 0x41c9602d47be108f},
    {0x403958e5efc1ffb4, 0x4237b9b7cff6baa1}, {0xc0354283a70ed3f9, 0x3e04179827c5e3e5},
    {0xc026784e3f8dacfc, 0x3eebb0f9fb3d7753}, {0xc045c368fc29a063, 0x3c026f365176c410},
    {0xc0132f901daa4f10, 0x3f80ea1c2bc1b010}, {0xc041b34fe0479c38, 0x3cbe6d98e278611f},
    {0xc048d618b1a1ccae, 0x3b7437b96bc07b06}, {0xc041ec2e5ce0715e, 0x3cb3834f435cf44d},
    {0xc02520f95bcd043c, 0x3efb12b7a442fa79}, {0x403949f3f2e86904, 0x4236614957a23bb7},
    {0x40419212bc613650, 0x4319f4e4ae66116e}, {0x4041b99cd3610788, 0x4321acef40abc31a},
    {0x403d55218eb1fcb8, 0x4293f1c6daaed403}, {0xbffc3648b4c66a20, 0x3fc5f341dcc42b7f},
    {0x4042f712541ca3cc, 0x435a632eb51c6e61}, {0xc0304a3efd8422ae, 0x3e769a7412331e06},
    {0xc03a0a06f7fc6eb4, 0x3d959b5ddb72cd26}, {0x404109b97da800a8, 0x4301e455ea35e3fe},
    {0x403759a6572f5b28, 0x4209c33db5004d04}, {0xc036095d4b4c914b, 0x3df27b0529e36aea},
    {0xc034d6b014873bdc, 0x3e0e9dbace48febf}, {0x40487684c43b51f4, 0x445800fa0d1d1db1},
    {0xc026e3461ecec864, 0x3ee6786888146ea4}, {0xc021ae4bd852e360, 0x3f22f9648eac46bf},
    {0xc041c2ec7e078d35, 0x3cbaef2d2d01029b}, {0xc018d8ddc14cf0c8, 0x3f606e2b13ed18aa},
    {0x3ff1a44ac47257a0, 0x4008189d0514464c}, {0xc03f5682de049c90, 0x3d1ba4fa12b1df3c},
    {0xc04758892fe53f4f, 0x3bb8e6abe24ae648}, {0x40293f03ecb5c828, 0x411285e71335d1e3},
    {0x40456500f44d55d8, 0x43ca915f79d98793}, {0xc048352345036caa, 0x3b91c63745e6bf0b},
    {0x4044bd9e2de7cd18, 0x43acbd79f0f5ac20}, {0x403e36f732e89cbc, 0x42a8181ac0bbe8a1},
    {0xc023c994a5bf0b00, 0x3f0a78cf2be9a44e}, {0xc0407241fa9deb3f, 0x3cf75c19360891be},
    {0xc030b5b7a85d10fe, 0x3e6db562f790d4fa}, {0xc047010ba4f9eec2, 0x3bc8a996829df927},
    {0x403a95c7302cad78, 0x425473a33eb16977}, {0x40105c62956a9390, 0x404de0631f5ed9f8},
    {0xc038284c06da2552, 0x3dc1bb34c39294f1}, {0xc0571d5bf7414030, 0x37986c95b02ee33c},
    {0xc07ec6195a8544b4, 0x13890113fbc051b9}, {0x4060cd17e5335220, 0x4c0e183fa6e3f9d8},
    {0xc083420166985fa6, 0x085ea876559050e1}, {0xc07040e0a5a8dd68, 0x287c3fecdffca76d},
    {0x405a82ddb41054e0, 0x497fc8ff208f3ba7}, {0xc0628ac1cff787f4, 0x328fea389a4b0735},
    {0x4071c117c4aea868, 0x598c52d625fffbf4}, {0xc073565f9ab4999e, 0x2408ce07f1cc40eb},
    {0x4062ce5db9c38090, 0x4d809627a20bde2e}, {0xc07e20f783d08554, 0x147729f9c7613de2},
    {0xc0813b534966a75c, 0x0e363e7dc5a4c382}, {0x404dec495ca72850, 0x45543ec87886faf6},
    {0xc07138afc180f6e8, 0x27163f84af05a1f2}, {0xc049041d9b0e9850, 0x3b6c396482d9517a},
    {0xc055abe23ebfd3c8, 0x381eaccff804b022}, {0xc080c7d75f7a78ca, 0x0f83b79a108949de},
    {0x4066c1c64c64264c, 0x50591d8f11539bff}, {0x40850af91792c864, 0x7ca6290adcceeb14},
    {0xc0559b039be98488, 0x3823f694d86386a7}, {0xc0869368b175338e, 0x00000000d8adfbad},
    {0xc0858d0239e31d85, 0x01c0e923778ab769}, {0xc071ea99f70dc71f, 0x26159aec03494efb},
    {0xc05bdaaf27e62ec8, 0x35e3269a5f9608bc}, {0xc078624eb039aa0c, 0x1cc1a429773f1c94},
    {0xc0873bf2457791d1, 0x0000000000000003}, {0xc07f5538014cf272, 0x12bab553116360b7},
    {0xc02257fb45fe8540, 0x3f1b3e4db6f5ee07}, {0xc085e888c406203a, 0x00b7d352370467fa},
    {0x40847be71b6ca0d4, 0x7b0970ce92dcaae4}, {0xc0855c1d7dba57cf, 0x024dcc666ca15f2f},
    {0x408264a44d82648a, 0x7501a6f43a65a599}, {0x4084dc1148c3e59a, 0x7c201fae281f5a70},
    {0xc07943d913449307, 0x1b7bf08a1121582e}, {0xc086d8a2b7cea933, 0x000000000009ae95},
    {0xc083415ca25cf8b4, 0x08609cfe12f5f984}, {0x40822d4d028784aa, 0x7461e5f822742fc1},
    {0x4065ae54ec1103c8, 0x4f92cbda54d32aba}, {0xc079a29e9b37c003, 0x1af324e73e17a1f7},
    {0x40515bd657fc46d0, 0x46320b5542912a6c}, {0x40571fe9f1a38d10, 0x4845d1077f2abcde},
    {0xc03ec94539c81b80, 0x3d27ffaa3a8bfb6c}, {0xc0807872a0f2ea6f, 0x10689285eff1908a},
    {0xc0567ac8650f8508, 0x37d35c518b973d5f}, {0xc0820e6b06614c9e, 0x0bd5390d8d92f071},
    {0x4076f1ab5d142af8, 0x610895529da0c491}, {0xc0320579ac2c4160, 0x3e5001cc49cbb598},
    {0xc0228454da387980, 0x3f18fb9bb5e2a2aa}, {0x407fa1456336cf14, 0x6d915e0537cd4417},
    {0x4078a4210fbb1c7c, 0x637bbec386cc1ded}, {0xc07a58d43e2bbc01, 0x19ec6dc94f5a4318},
    {0xc080444a3273cf31, 0x1100477dfbc193dd}, {0xc075efdbbd5a02bd, 0x2048b4d5ef31301b},
    {0xc05db0ced6d784a0, 0x35394fe06e34c0c9}, {0xc075e19c6d1ed2af, 0x205e186ba274be5b},
    {0x407ad9b082b4f620, 0x66aba998f81e0071}, {0x4051a1cc47fa31e8, 0x464aeb282be2079c},
    {0xc086668f64c005fb, 0x000000e64a9da6f5}, {0x407e068cd7a18bc0, 0x6b40f64845d01866},
    {0xc07318150878c8e9, 0x2463047bc36ed73e}, {0xc086feb1854b51cb, 0x000000000000154a},
    {0xc08669517fc27138, 0x000000a322202fb5}, {0xc086b650d256078d, 0x0000000002c2735e},
    {0xc08700bbf0dae7f7, 0x000000000000107f}, {0xc0869519dd7c12f3, 0x00000000af5f432a},
    {0xc086b7b206febd6d, 0x0000000002528a7d}, {0xc086adeff2a012f3, 0x0000000007dd597a},
    {0xc0870bb74372ce45, 0x000000000000042e}, {0xc087428555efd4d0, 0x0000000000000001},
    {0xc086efd64c5f1248, 0x000000000000885b}, {0xc086ceb92f2af12e, 0x0000000000216cb9},
    {0xc086bfd903cfb217, 0x0000000000d69855}, {0xc08675a10c5c8c4b, 0x0000002303616c19},
    {0xc087005308d2dee8, 0x000000000000115d}, {0xc08745b7705f794a, 0x0000000000000001},
    {0xc086e63663d0ca73, 0x000000000001c61c}, {0xc08720d3bb49d8ab, 0x000000000000004c},
    {0xc0867fed79ea81cf, 0x00000009a9fb777d}, {0xc0872f5b8bfb6d76, 0x000000000000000c},
    {0xc0873610d8e52746, 0x0000000000000005},
};

TEST(Exp, HasTheBitsOfTheTrueValue) {
  int wrong = 0;
  for (const Value& value : kTrueValues) {
    const double x = std::bit_cast<double>(value.x);
    if (std::bit_cast<std::uint64_t>(Exp(x)) == value.exp) continue;
    ++wrong;
    ADD_FAILURE() << "Exp(" << std::hexfloat << x << ") is " << Exp(x) << ", not "
                  << std::bit_cast<double>(value.exp);
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Exp, HasItsLimits) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Exp(0), 1);
  EXPECT_EQ(Exp(-0.0), 1);
  EXPECT_EQ(Exp(kInf), kInf);
  EXPECT_EQ(Exp(-kInf), 0);
  EXPECT_TRUE(std::isnan(Exp(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_EQ(Exp(1e-300), 1);
  EXPECT_EQ(Exp(1e300), kInf);
  EXPECT_EQ(Exp(-1e300), 0);
  // The last argument with a finite result and the last with a result above zero, each with its neighbour.
  EXPECT_LT(Exp(0x1.62e42fefa39efp+9), kInf);
  EXPECT_EQ(Exp(0x1.62e42fefa39f0p+9), kInf);
  EXPECT_EQ(Exp(-0x1.74910d52d3051p+9), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(Exp(-0x1.74910d52d3052p+9), 0);
}

// An implementation with tables could decrease at a step of its table, so the neighbours of such steps are tested.
TEST(Exp, NeverDecreases) {
  constexpr double kLn2 = 0.693147180559945309417;
  for (int step = -4096 * 20; step <= 4096 * 20; step += 7) {
    double x = (step + 0.5) * (kLn2 / 4096);
    for (int k = 0; k < 4; ++k) x = std::nextafter(x, -1e9);
    for (int k = 0; k < 8; ++k) {
      const double next = std::nextafter(x, 1e9);
      ASSERT_LE(Exp(x), Exp(next)) << std::hexfloat << x;
      x = next;
    }
  }
}

// Two decays of half a half-life equal one decay of a half-life. The recent average relies on this.
TEST(Exp, AHalfLifeIsExactlyOneHalf) {
  constexpr double kLn2 = 0.693147180559945309417;
  EXPECT_EQ(Exp(-kLn2), 0.5);
  EXPECT_DOUBLE_EQ(Exp(-kLn2 / 2) * Exp(-kLn2 / 2), 0.5);
}

}  // namespace
}  // namespace cobblestone
