package live

//go:generate go run ./internal/genlayouts layouts.go

// layout is where the runtime of a version of Go keeps what is read: offsets of fields in bytes, -1 for a field that it does not have,
// and the sizes of structures.
type layout struct {
	gM, gSched, gSyscallSP, gSyscallPC, gStatus, gID, gWaitSince, gWaitReason int
	gLockedM, gParent, gPC, gStart, gSize                                     int
	bufSP, bufPC, bufG, bufLR                                                 int
	mProcID, mCurG                                                            int

	modHeader, modFuncNames, modCU, modFiles, modPC, modPCLN, modFuncs      int
	modMinPC, modMaxPC, modText, modEText, modBSS, modEBSS                  int
	modNoPtrBSS, modENoPtrBSS, modGoFunc, modTextSections, modNext, modSize int

	funcName, funcPCSP, funcPCFile, funcPCLn, funcPCData, funcCU, funcID, funcFuncData int
	inlParent, inlFile, inlLine, inlFunc, inlName, inlParentPC, inlFuncID, inlSize     int

	// inlTree and inlIndex are the numbers of tables of a function: its inlined calls, and which of them a place in it belongs to.
	inlTree, inlIndex int
	// wrapper is the kind (funcID) of functions that the compiler has made around others.
	wrapper byte

	// waits are the reasons of waits by their number.
	waits []string
}
