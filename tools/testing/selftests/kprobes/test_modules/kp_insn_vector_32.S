/* SPDX-License-Identifier: GPL-2.0 */
/* Included by kp_insn_vector.S: cases with 32-bit addresses. */

GROUP KP_SSE
.irp op, movups, movdqu, movupd, lddqu
	CASE "\op (%ebx), %xmm0", flags=KP_FPU
	CASE "\op kp_insn_mem+16, %xmm1", flags=KP_FPU
.endr
	CASE "movups %xmm1, 3(%ebx)", flags=KP_FPU
	CASE "movaps %xmm2, (%ebx)", flags=KP_FPU
	CASE "movaps kp_insn_mem+32, %xmm7", flags=KP_FPU
	CASE "movdqa %xmm3, %xmm4", flags=KP_FPU
	CASE "movdqu %xmm0, kp_insn_mem+5", flags=KP_FPU
	CASE "movntdq %xmm4, 16(%ebx)", flags=KP_FPU
	CASE "movntdqa (%ebx), %xmm4", flags=KP_FPU, feature=X86_FEATURE_XMM4_1
	CASE "movss (%ebx), %xmm5", flags=KP_FPU
	CASE "movsd %xmm6, 8(%ebx)", flags=KP_FPU
	CASE "movd %eax, %xmm7", flags=KP_FPU
	CASE "movq %xmm7, 8(%ebx)", flags=KP_FPU
	CASE "movhps (%ebx), %xmm1", flags=KP_FPU
	CASE "movlps %xmm1, (%ebx)", flags=KP_FPU
	CASE "movmskps %xmm1, %eax", flags=KP_FPU
	CASE "pinsrw $2, (%ebx), %xmm1", flags=KP_FPU
	CASE "pextrd $1, %xmm1, %eax", flags=KP_FPU, feature=X86_FEATURE_XMM4_1
.irp op, pxor, por, pand, paddd, paddq, psubsb, psubsw, psubb, pcmpeqb, pcmpeqw, pcmpeqd, \
	punpckhbw, packuswb, pmaddwd, pavgb, psadbw, pmuludq
	CASE "\op kp_insn_mem+64, %xmm2", flags=KP_FPU
.endr
	CASE "pshufhw $0x1b, (%ebx), %xmm5", flags=KP_FPU
	CASE "pshufb (%ebx), %xmm3", flags=KP_FPU, feature=X86_FEATURE_SSSE3
	CASE "palignr $5, kp_insn_mem+80, %xmm3", flags=KP_FPU, feature=X86_FEATURE_SSSE3
	CASE "pcmpistri $0x18, (%ebx), %xmm2", flags=KP_FPU, feature=X86_FEATURE_XMM4_2
	CASE "ptest (%ebx), %xmm2", flags=KP_FPU, feature=X86_FEATURE_XMM4_1
	CASE "aeskeygenassist $1, (%ebx), %xmm4", flags=KP_FPU, feature=X86_FEATURE_AES
	CASE "pclmulqdq $0x10, (%ebx), %xmm2", flags=KP_FPU, feature=X86_FEATURE_PCLMULQDQ
	CASE "mulpd (%ebx), %xmm1", flags=KP_FPU
	CASE "cmpps $2, kp_insn_mem+96, %xmm1", flags=KP_FPU
	CASE "cvtsi2sd %eax, %xmm5", flags=KP_FPU
	CASE "cvttsd2si (%ebx), %eax", flags=KP_FPU
	CASE "stmxcsr (%ebx)", flags=KP_FPU
	CASE "ldmxcsr (%ebx)", pre="stmxcsr (%ebx)", flags=KP_FPU
	CASE "fstpl (%ebx)", pre="fninit; fldpi", flags=KP_FPU
	CASE "faddp", pre="fninit; fld1; fldpi", post="fstpl (%ebx)", flags=KP_FPU
	CASE "fildll kp_insn_mem+104", pre="fninit", post="fstpt (%ebx)", flags=KP_FPU
	CASE "fnstcw (%ebx)", pre="fninit", flags=KP_FPU
	CASE "movq (%ebx), %mm1", post="movq %mm1, 8(%ebx); emms", flags=KP_FPU
	CASE "paddw %mm1, %mm2", pre="movq (%ebx), %mm1; movq 8(%ebx), %mm2", \
		post="movq %mm2, (%ebx); emms", flags=KP_FPU
	CASE "fxsave (%ebx)", pre="lea kp_insn_mem+256, %ebx", flags=KP_FPU

GROUP KP_AVX
.irp op, vpaddd, vpsubsb, vpsubsw, vpor, vpcmpeqb, vpcmpeqw, vpcmpeqd, vpxor, vpmaddwd, \
	vpunpckhbw, vpackuswb, vpavgb, vpsubq, vpmuludq
	CASE "\op (%ebx), %xmm1, %xmm2", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "\op kp_insn_mem+32, %xmm1, %xmm2", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "\op %ymm4, %ymm5, %ymm3", flags=KP_FPU, feature=X86_FEATURE_AVX2
.endr
	CASE "vmovups (%ebx), %ymm0", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmovups %ymm0, 7(%esi)", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmovdqa kp_insn_mem+64, %ymm3", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmovdqu %ymm7, kp_insn_mem+65", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmovd %eax, %xmm1", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmovq %xmm1, 8(%ebx)", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmovd %xmm1, %ecx", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmovmskps %ymm1, %eax", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmovntdq %ymm1, (%ebx)", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmulpd (%ebx), %ymm2, %ymm3", flags=KP_FPU, feature=X86_FEATURE_AVX
	/* c2 */
	CASE "vcmpsd $1, kp_insn_mem+96, %xmm2, %xmm3", \
		flags=KP_FPU, feature=X86_FEATURE_AVX
	/* 70 to 77: as if jcc */
	CASE "vpshufhw $0x1b, kp_insn_mem+128, %xmm2", \
		flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vpsllw $3, %xmm0, %xmm2", flags=KP_FPU, feature=X86_FEATURE_AVX
	/* e7, e8 to eb, ff */
	CASE "vpsubsb kp_insn_mem+160, %xmm1, %xmm0", \
		flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vpmaxsw %xmm1, %xmm0, %xmm2", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vpinsrd $1, %eax, %xmm1, %xmm2", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vpextrb $3, %xmm1, (%ebx)", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vextractf128 $1, %ymm1, (%ebx)", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vinsertf128 $1, kp_insn_mem+176, %ymm1, %ymm2", \
		flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vbroadcastss (%ebx), %ymm2", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vptest (%ebx), %ymm1", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vcvtsi2sd %eax, %xmm1, %xmm2", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vcvttsd2si %xmm1, %edx", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vpshufb (%ebx), %ymm2, %ymm3", flags=KP_FPU, feature=X86_FEATURE_AVX2
	CASE "vpermd kp_insn_mem+192, %ymm1, %ymm2", \
		flags=KP_FPU, feature=X86_FEATURE_AVX2
	CASE "vpmovzxbw (%ebx), %ymm1", flags=KP_FPU, feature=X86_FEATURE_AVX2
	CASE "vpmaskmovd %ymm1, %ymm2, (%ebx)", flags=KP_FPU, feature=X86_FEATURE_AVX2
	CASE "vpgatherdd %xmm1, (%ebx, %xmm2, 4), %xmm3", \
		pre="vpxor %xmm2, %xmm2, %xmm2; \
		vpcmpeqd %xmm1, %xmm1, %xmm1", flags=KP_FPU, feature=X86_FEATURE_AVX2
	CASE "vfmadd231sd kp_insn_mem+200, %xmm2, %xmm3", \
		flags=KP_FPU, feature=X86_FEATURE_FMA
	CASE "vfnmsub132pd (%ebx), %ymm2, %ymm3", flags=KP_FPU, feature=X86_FEATURE_FMA
	CASE "vcvtph2ps (%ebx), %xmm1", flags=KP_FPU, feature=X86_FEATURE_F16C

GROUP KP_BMI
	CASE "andn %edx, %eax, %ecx", feature=X86_FEATURE_BMI1
	CASE "andn kp_insn_mem+8, %eax, %ecx", feature=X86_FEATURE_BMI1
	CASE "bextr %edx, (%ebx), %eax", feature=X86_FEATURE_BMI1
	CASE "blsr %eax, %edx", feature=X86_FEATURE_BMI1
	CASE "blsi (%ebx), %edi", feature=X86_FEATURE_BMI1
	CASE "bzhi %eax, %edx, %edi", feature=X86_FEATURE_BMI2
	CASE "mulx kp_insn_mem+16, %eax, %ecx", feature=X86_FEATURE_BMI2
	CASE "pdep %eax, %edx, %edi", feature=X86_FEATURE_BMI2
	CASE "pext (%ebx), %edx, %eax", feature=X86_FEATURE_BMI2
	CASE "rorx $13, %eax, %edx", feature=X86_FEATURE_BMI2
	CASE "rorx $7, kp_insn_mem+24, %esi", feature=X86_FEATURE_BMI2
	CASE "shlx %ecx, %eax, %edx", feature=X86_FEATURE_BMI2
	CASE "sarx %eax, (%ebx), %edi", feature=X86_FEATURE_BMI2
	CASE "shrx %edx, kp_insn_mem+32, %edi", feature=X86_FEATURE_BMI2

GROUP KP_EVEX
	CASE "vmovdqu64 (%ebx), %zmm0", flags=KP_FPU, feature=X86_FEATURE_AVX512F
	CASE "vmovdqu64 %zmm1, 64(%ebx)", flags=KP_FPU, feature=X86_FEATURE_AVX512F
	CASE "vmovdqa32 kp_insn_mem+64, %zmm7", flags=KP_FPU, feature=X86_FEATURE_AVX512F
	CASE "vpord %zmm1, %zmm4, %zmm3", flags=KP_FPU, feature=X86_FEATURE_AVX512F
	CASE "vpxorq kp_insn_mem+128{1to8}, %zmm2, %zmm3", \
		flags=KP_FPU, feature=X86_FEATURE_AVX512F
	CASE "vpsrad $3, (%ebx), %zmm3", flags=KP_FPU, feature=X86_FEATURE_AVX512F
