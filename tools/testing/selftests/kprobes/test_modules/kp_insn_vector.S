/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The instruction matrix: x87, MMX, SSE, AVX, and what else is VEX or EVEX encoded. Here are
 * the cases that read the same with 32-bit and with 64-bit code, and in an included file those
 * that do not.
 *
 * Many of these are here for a byte that means something else elsewhere: in the map
 * of a VEX prefix, opcodes that look like jumps, calls and returns are arithmetic.
 */

#include "kp_insn_macros.S"

TABLE kp_insn_vector

GROUP KP_SSE
	CASE "movd %xmm3, %ecx", flags=KP_FPU
	CASE "pmovmskb %xmm2, %edx", flags=KP_FPU
	CASE "pextrw $3, %xmm1, %eax", flags=KP_FPU
	CASE "pinsrb $7, %edx, %xmm1", flags=KP_FPU, feature=X86_FEATURE_XMM4_1
	CASE "maskmovdqu %xmm1, %xmm2", flags=KP_FPU
/* 0f 70 to 0f 77 and 0f e8 to 0f eb among them */
.irp op, pxor, por, pand, paddd, paddq, psubsb, psubsw, psubb, pcmpeqb, pcmpeqw, pcmpeqd, \
	punpckhbw, packuswb, pmaddwd, pavgb, psadbw, pmuludq
	CASE "\op %xmm1, %xmm0", flags=KP_FPU
.endr
	CASE "pshufd $0x1b, %xmm4, %xmm5", flags=KP_FPU
	CASE "psrldq $3, %xmm6", flags=KP_FPU
	CASE "psllw $3, %xmm7", flags=KP_FPU
	CASE "psrlq %xmm1, %xmm7", flags=KP_FPU
	CASE "aesenc %xmm3, %xmm4", flags=KP_FPU, feature=X86_FEATURE_AES
	CASE "sha256rnds2 %xmm0, %xmm3, %xmm4", flags=KP_FPU, feature=X86_FEATURE_SHA_NI
	CASE "addps %xmm2, %xmm1", flags=KP_FPU
	CASE "shufps $0x4e, %xmm3, %xmm1", flags=KP_FPU
	CASE "sqrtss %xmm1, %xmm0", flags=KP_FPU
	CASE "ucomisd %xmm1, %xmm2", flags=KP_FPU
	CASE "cvtdq2ps %xmm1, %xmm2", flags=KP_FPU
	CASE "fnstsw %ax", pre="fninit", flags=KP_FPU
	CASE "emms", flags=KP_FPU

GROUP KP_AVX
.irp op, vpaddd, vpsubsb, vpsubsw, vpor, vpcmpeqb, vpcmpeqw, vpcmpeqd, vpxor, vpmaddwd, \
	vpunpckhbw, vpackuswb, vpavgb, vpsubq, vpmuludq
	CASE "\op %xmm1, %xmm2, %xmm3", flags=KP_FPU, feature=X86_FEATURE_AVX
.endr
	CASE "vaddps %ymm1, %ymm2, %ymm3", flags=KP_FPU, feature=X86_FEATURE_AVX
	/* c2 */
	CASE "vcmpps $1, %ymm1, %ymm2, %ymm3", flags=KP_FPU, feature=X86_FEATURE_AVX
	/* 70 to 77: as if jcc */
	CASE "vpshufd $0x1b, %xmm1, %xmm2", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vpsrlq $3, %xmm1, %xmm2", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vzeroupper", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vzeroall", flags=KP_FPU, feature=X86_FEATURE_AVX
	/* e7, e8 to eb, ff */
	CASE "vcvtpd2dq %ymm1, %xmm2", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vpextrw $3, %xmm1, %edx", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vucomiss %xmm1, %xmm2", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vblendvps %ymm1, %ymm2, %ymm3, %ymm4", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vpclmulqdq $1, %xmm1, %xmm2, %xmm3", flags=KP_FPU, feature=X86_FEATURE_PCLMULQDQ
	CASE "vaesdec %xmm1, %xmm2, %xmm3", flags=KP_FPU, feature=X86_FEATURE_AES
	CASE "vpalignr $3, %ymm1, %ymm2, %ymm3", flags=KP_FPU, feature=X86_FEATURE_AVX2
	CASE "vpermq $0x1b, %ymm1, %ymm2", flags=KP_FPU, feature=X86_FEATURE_AVX2
	CASE "vperm2i128 $0x21, %ymm1, %ymm2, %ymm3", flags=KP_FPU, feature=X86_FEATURE_AVX2
	CASE "vpbroadcastb %xmm1, %ymm2", flags=KP_FPU, feature=X86_FEATURE_AVX2
	CASE "vpsllvd %ymm1, %ymm2, %ymm3", flags=KP_FPU, feature=X86_FEATURE_AVX2
	CASE "vpmovmskb %ymm1, %eax", flags=KP_FPU, feature=X86_FEATURE_AVX2
	CASE "vfmadd213ps %ymm1, %ymm2, %ymm3", flags=KP_FPU, feature=X86_FEATURE_FMA

/* VEX too, but on general registers. */
GROUP KP_BMI
	CASE "blsmsk %ecx, %eax", feature=X86_FEATURE_BMI1

/* On processors without AVX-512 these are only registered. */
GROUP KP_EVEX
	CASE "vpaddd %zmm1, %zmm2, %zmm3", flags=KP_FPU, feature=X86_FEATURE_AVX512F
	CASE "vpternlogd $0x96, %zmm1, %zmm2, %zmm3", flags=KP_FPU, feature=X86_FEATURE_AVX512F
	CASE "vpcmpeqd %zmm1, %zmm2, %k1", post="kmovw %k1, %eax", \
		flags=KP_FPU, feature=X86_FEATURE_AVX512F
	CASE "kmovw %k1, %eax", pre="kmovw %ecx, %k1", flags=KP_FPU, feature=X86_FEATURE_AVX512F
	CASE "korw %k1, %k2, %k3", pre="kmovw %ecx, %k1; kmovw %edx, %k2", \
		post="kmovw %k3, %eax", flags=KP_FPU, feature=X86_FEATURE_AVX512F

#ifdef CONFIG_X86_64
#include "kp_insn_vector_64.S"
#else
#include "kp_insn_vector_32.S"
#endif

TABLE_END kp_insn_vector
