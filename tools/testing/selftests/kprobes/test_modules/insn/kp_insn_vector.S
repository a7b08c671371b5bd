/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The instruction matrix: x87, MMX, SSE, AVX, and other VEX or EVEX encodings.
 *
 * Many cases have an opcode byte that means a jump, call or return in another opcode map. kprobes
 * must not take them for branches.
 */

#include "kp_insn_macros.S"

#define SSE_OPS	pxor, por, pand, paddd, paddq, psubsb, psubsw, psubb, pcmpeqb, pcmpeqw, pcmpeqd, \
		punpckhbw, packuswb, pmaddwd, pavgb, psadbw, pmuludq
#define AVX_OPS	vpaddd, vpsubsb, vpsubsw, vpor, vpcmpeqb, vpcmpeqw, vpcmpeqd, vpxor, vpmaddwd, \
		vpunpckhbw, vpackuswb, vpavgb, vpsubq, vpmuludq

TABLE kp_insn_vector

GROUP sse, flags=KP_FPU
/* Among them, opcodes 74 to 76, e8, e9 and eb of map 0f: jcc, call and jmp in the one-byte map */
.irp op, SSE_OPS
	CASES "\op %xmm1, %xmm0", W(\op MEM(64), %WIDTH(xmm10, xmm2))
.endr
.irp op, movups, movdqu, movupd, lddqu
	CASES W(\op (%BX), %xmm0), W(\op MEM(16), %WIDTH(xmm9, xmm1))
.endr
	CASES "movd %xmm3, %ecx", "pmovmskb %xmm2, %edx", "pextrw $3, %xmm1, %eax"
	CASES "maskmovdqu %xmm1, %xmm2", "pshufd $0x1b, %xmm4, %xmm5", "psrldq $3, %xmm6"
	CASES "psllw $3, %xmm7", "psrlq %xmm1, %xmm7", "addps %xmm2, %xmm1", "emms"
	CASES "shufps $0x4e, %xmm3, %xmm1", "sqrtss %xmm1, %xmm0", "ucomisd %xmm1, %xmm2"
	CASES "cvtdq2ps %xmm1, %xmm2", W(movups %xmm1, 3(%BX)), W(movaps %xmm2, (%BX))
	CASES W(movaps MEM(32), %WIDTH(xmm15, xmm7)), W(movdqa %xmm3, %WIDTH(xmm12, xmm4))
	CASES W(movdqu %WIDTH(xmm8, xmm0), MEM(5)), W(movntdq %xmm4, 16(%BX))
	CASES W(movss (%BX), %xmm5), W(movsd %xmm6, 8(%BX)), W(movd %AX, %xmm7)
	CASES W(movd %xmm7, %DX), W(movq %xmm7, 8(%BX)), W(movhps (%BX), %xmm1)
	CASES W(movlps %xmm1, (%BX)), W(movmskps %WIDTH(xmm9, xmm1), %eax)
	CASES W(pinsrw $2, (%BX), %xmm1), W(pshufhw $0x1b, (%BX), %xmm5), W(mulpd (%BX), %xmm1)
	CASES W(cmpps $2, MEM(96), %xmm1), W(cvtsi2sd %AX, %xmm5), W(cvttsd2si (%BX), %AX)
	CASES W(stmxcsr (%BX))
	CASE W(ldmxcsr (%BX)), pre=W(stmxcsr (%BX))
	CASE "fnstsw %ax", pre="fninit"
	CASE W(fstpl (%BX)), pre="fninit; fldpi"
	CASE "faddp", pre="fninit; fld1; fldpi", post=W(fstpl (%BX))
	CASE W(fildll MEM(104)), pre="fninit", post=W(fstpt (%BX))
	CASE W(fnstcw (%BX)), pre="fninit"
	CASE W(movq (%BX), %mm1), post=W(movq %mm1, 8(%BX); emms)
	CASE "paddw %mm1, %mm2", pre=W(movq (%BX), %mm1; movq 8(%BX), %mm2), \
		post=W(movq %mm2, (%BX); emms)
	CASE W(WIDTH(fxsave64, fxsave) (%BX)), pre=W(lea MEM(256), %BX)
	CASES_OF X86_FEATURE_XMM4_1, "pinsrb $7, %edx, %xmm1", W(movntdqa (%BX), %xmm4)
	CASES_OF X86_FEATURE_XMM4_1, W(WIDTH(pextrq, pextrd) $1, %xmm1, %AX), W(ptest (%BX), %xmm2)
	CASES_OF X86_FEATURE_XMM4_2, W(pcmpistri $0x18, (%BX), %xmm2)
	CASES_OF X86_FEATURE_SSSE3, W(pshufb (%BX), %xmm3), W(palignr $5, MEM(80), %xmm3)
	CASES_OF X86_FEATURE_AES, "aesenc %xmm3, %xmm4", W(aeskeygenassist $1, (%BX), %xmm4)
	CASES_OF X86_FEATURE_PCLMULQDQ, W(pclmulqdq $0x10, (%BX), %xmm2)
	CASES_OF X86_FEATURE_SHA_NI, "sha256rnds2 %xmm0, %xmm3, %xmm4"

GROUP avx, flags=KP_FPU, feature=X86_FEATURE_AVX
.irp op, AVX_OPS
	CASES "\op %xmm1, %xmm2, %xmm3", W(\op (%BX), %WIDTH(xmm9, xmm1), %WIDTH(xmm10, xmm2))
	CASES W(\op MEM(32), %WIDTH(xmm9, xmm1), %WIDTH(xmm10, xmm2))
.endr
	CASES W(vmovups (%BX), %ymm0), W(vmovups %WIDTH(ymm8, ymm0), 7(%R12)), "vzeroupper"
	CASES W(vmovdqa MEM(64), %ymm3), W(vmovdqu %WIDTH(ymm15, ymm7), MEM(65)), "vzeroall"
	CASES W(vmovd %AX, %xmm1), W(vmovd %xmm1, %R9), W(vmovq %xmm1, 8(%BX))
	CASES W(vmovd %WIDTH(xmm9, xmm1), %ecx), W(vmovmskps %WIDTH(ymm9, ymm1), %eax)
	CASES W(vmovntdq %ymm1, (%BX)), "vaddps %ymm1, %ymm2, %ymm3", W(vmulpd (%BX), %ymm2, %ymm3)
	CASES W(vpinsrd $1, %eax, %xmm1, %xmm2), W(vpextrb $3, %xmm1, (%BX))
	CASES W(vextractf128 $1, %ymm1, (%BX)), W(vinsertf128 $1, MEM(176), %ymm1, %ymm2)
	CASES W(vbroadcastss (%BX), %ymm2), W(vptest (%BX), %ymm1), "vucomiss %xmm1, %xmm2"
	CASES W(vcvtsi2sd %AX, %xmm1, %xmm2), W(vcvttsd2si %xmm1, %DX), "vpextrw $3, %xmm1, %edx"
	CASES "vblendvps %ymm1, %ymm2, %ymm3, %ymm4"
	/* Opcode c2, which is ret in the one-byte map */
	CASES "vcmpps $1, %ymm1, %ymm2, %ymm3", W(vcmpsd $1, MEM(96), %xmm2, %xmm3)
	/* Opcodes 70 to 73, which are jcc in the one-byte map */
	CASES "vpshufd $0x1b, %xmm1, %xmm2", W(vpshufhw $0x1b, MEM(128), %xmm2)
	CASES "vpsrlq $3, %xmm1, %xmm2", W(vpsllw $3, %WIDTH(xmm8, xmm0), %xmm2)
	/* Opcodes e6, e8 and ee, which are out, call and out in the one-byte map */
	CASES "vcvtpd2dq %ymm1, %xmm2", W(vpsubsb MEM(160), %xmm1, %WIDTH(xmm8, xmm0))
	CASES W(vpmaxsw %xmm1, %WIDTH(xmm8, xmm0), %xmm2)
#ifdef CONFIG_X86_64
	CASES "vpinsrq $1, %rax, %xmm1, %xmm2"
#endif
	CASES_OF X86_FEATURE_F16C, W(vcvtph2ps (%BX), %xmm1)
	CASES_OF X86_FEATURE_PCLMULQDQ, "vpclmulqdq $1, %xmm1, %xmm2, %xmm3"
	CASES_OF X86_FEATURE_AES, "vaesdec %xmm1, %xmm2, %xmm3"
	CASES_OF X86_FEATURE_FMA, "vfmadd213ps %ymm1, %ymm2, %ymm3"
	CASES_OF X86_FEATURE_FMA, W(vfmadd231sd MEM(200), %xmm2, %xmm3)
	CASES_OF X86_FEATURE_FMA, W(vfnmsub132pd (%BX), %ymm2, %ymm3)
GROUP avx, flags=KP_FPU, feature=X86_FEATURE_AVX2
.irp op, AVX_OPS
	CASES W(\op %ymm4, %WIDTH(ymm12, ymm5), %ymm3)
.endr
	CASES "vpalignr $3, %ymm1, %ymm2, %ymm3", "vpermq $0x1b, %ymm1, %ymm2"
	CASES "vperm2i128 $0x21, %ymm1, %ymm2, %ymm3", "vpbroadcastb %xmm1, %ymm2"
	CASES "vpsllvd %ymm1, %ymm2, %ymm3", "vpmovmskb %ymm1, %eax", W(vpmovzxbw (%BX), %ymm1)
	CASES W(vpshufb (%BX), %ymm2, %ymm3), W(vpermd MEM(192), %ymm1, %ymm2)
	CASES W(vpmaskmovd %ymm1, %ymm2, (%BX))
	CASE W(vpgatherdd %xmm1, (%BX, %xmm2, 4), %xmm3), \
		pre="vpxor %xmm2, %xmm2, %xmm2; vpcmpeqd %xmm1, %xmm1, %xmm1"

/* Instructions with VEX that use general registers */
GROUP bmi, feature=X86_FEATURE_BMI1
	CASES "blsmsk %ecx, %eax", W(andn %DX, %AX, %CX), W(andn MEM(8), %eax, %ecx)
	CASES W(bextr %DX, (%BX), %AX), W(blsr %AX, %DX), W(blsi (%BX), %R14)
GROUP bmi, feature=X86_FEATURE_BMI2
	CASES W(bzhi %AX, %DX, %R9), W(mulx MEM(16), %AX, %CX), W(pdep %AX, %DX, %R10)
	CASES W(pext (%BX), %DX, %AX), W(rorx $13, %AX, %DX), W(rorx $7, MEM(24), %R8)
	CASES W(shlx %CX, %AX, %DX), W(sarx %eax, (%BX), %R9D), W(shrx %R9, MEM(32), %R14)

/* Without AVX-512 these are only registered. */
GROUP evex, flags=KP_FPU, feature=X86_FEATURE_AVX512F
	CASES "vpaddd %zmm1, %zmm2, %zmm3", "vpternlogd $0x96, %zmm1, %zmm2, %zmm3"
	CASES W(vmovdqu64 (%BX), %zmm0), W(vmovdqu64 %WIDTH(zmm17, zmm1), 64(%BX))
	CASES W(vmovdqa32 MEM(64), %WIDTH(zmm31, zmm7)), W(vpord %zmm1, %WIDTH(zmm20, zmm4), %zmm3)
	CASES W(vpxorq MEM(128){1to8}, %zmm2, %zmm3), W(vpsrad $3, (%BX), %zmm3)
	CASE "vpcmpeqd %zmm1, %zmm2, %k1", post="kmovw %k1, %eax"
	CASE "kmovw %k1, %eax", pre="kmovw %ecx, %k1"
	CASE "korw %k1, %k2, %k3", pre="kmovw %ecx, %k1; kmovw %edx, %k2", post="kmovw %k3, %eax"

TABLE_END kp_insn_vector
