package logs

// The start and the end of kubelet runs, by the kubelet and by systemd.
const (
	kindKubeletVersion   Kind = "kubelet-version"   // `"Kubelet version" kubeletVersion=`; Reason is the version
	kindKubeletStage     Kind = "kubelet-stage"     // a step of the start; Reason is the stage as in Life.Stage
	kindKubeletVerbosity Kind = "kubelet-verbosity" // `FLAG: --v="4"`, Number is it
	kindKubeletFatal     Kind = "kubelet-fatal"     // an F line, `"command failed"`, `"Failed to run kubelet"`; Reason
	kindKubeletPanic     Kind = "kubelet-panic"     // `panic: …`, `fatal error: …`, `Observed a panic`; Reason
	// kindKubeletNotStarted: systemd's `Failed to start kubelet.service - …`, which follows the ends of a unit of the types forking and notify.
	kindKubeletNotStarted Kind = "kubelet-not-started"
	kindKubeletExited     Kind = "kubelet-exited"   // systemd: `kubelet.service: Main process exited, code=…`; Code is "9/KILL"
	kindKubeletStopping   Kind = "kubelet-stopping" // systemd: `Stopping kubelet`, `Stopped kubelet`
	kindKubeletStarting   Kind = "kubelet-starting" // systemd: `Started kubelet`, `Scheduled restart job`
	kindKubeletWatchdog   Kind = "kubelet-watchdog" // systemd: `Watchdog timeout`
	kindKubeletRuns       Kind = "kubelet-runs"     // a row that internal/kubectl has read of `systemctl status`: the kubelet has run for a minute or longer
	kindSaidOver          Kind = "said-over"        // a sentence of whoever shows the lines: they have not come back since
	kindSaidRepeated      Kind = "said-repeated"    // a sentence of whoever shows a line: it comes again and again
	kindKubeletSignal     Kind = "kubelet-signal"   // `SIGABRT: abort`, `SIGQUIT: quit`; Code is the signal
)

// lifeMessages are those of the start and the end of a kubelet: of the kubelet itself, of the Go runtime and of systemd.
var lifeMessages = []message{
	{
		kind: kindKubeletVersion, severity: SeverityRoutine, byReason: true,
		rules: []rule{
			{start: "Kubelet version", fill: kubeletVersion},
			{start: "Version: v", fill: kubeletVersion},
		},
	},
	{
		kind: kindSaidRepeated, severity: SeverityRoutine,
		rules: saidRepeated(),
	},
	{
		kind: kindSaidOver, severity: SeverityRoutine,
		rules: append(saidSolved(), rule{has: "Since then", prose: true, fill: saidOver}),
	},
	{
		kind: kindKubeletVerbosity, severity: SeverityRoutine,
		rules: []rule{{start: "FLAG: --v=", level: 1, fill: verbosityFlag}},
	},
	{
		kind: kindKubeletFatal, lane: LaneSyncLoop, words: "kubelet failed",
		rules: []rule{
			{start: "command failed", err: "ailed to run Kubelet", fill: wholeMessage}, // which tells it also without a header
			{start: "command failed", fill: wholeMessage},
			{start: "Failed to run kubelet", fill: wholeMessage},
			{start: "Error: failed to parse kubelet flag", fill: wholeMessage},
			{start: "Error: failed to run Kubelet", fill: wholeMessage},
			{start: "validate service connection: CRI v1 runtime API is not implemented", fill: wholeMessage},
			{start: "Kubelet exited failed to run Kubelet", fill: wholeMessage}, // kubelite
			{start: "failed to load Kubelet config file", fill: wholeMessage},
			{start: "failed to load kubelet config file", fill: wholeMessage},
			{start: "failed to run Kubelet", fill: wholeMessage},
			{start: "kubelet: Exit with error: failed to run Kubelet", fill: wholeMessage}, // localkube
			{start: "Failed to start ContainerManager", fill: wholeMessage},
			{start: "failed to start ContainerManager", fill: wholeMessage},
			{start: "Failed to start cAdvisor", fill: wholeMessage},
		},
	},
	{
		kind: kindKubeletPanic, lane: LaneSyncLoop, words: "kubelet panicked",
		rules: []rule{
			{start: "panic: runtime error", fill: goPanic},
			{start: "goroutine ", has: " [running]:", fill: goPanic},
			{start: "fatal error: ", fill: goPanic},
			{start: "Observed a panic", fill: observedPanic},
			{start: "SIGSEGV: segmentation violation", fill: goPanic},
			{start: "SIGBUS: bus error", fill: goPanic},
		},
	},
	{
		kind: kindKubeletSignal,
		rules: []rule{
			{start: "SIGABRT: abort", fill: goSignal},
			{start: "SIGQUIT: quit", fill: goSignal},
		},
	},
	{
		kind: kindKubeletExited, words: "kubelet exited",
		rules: []rule{
			{start: "kubelet.service: ", has: "ain process exited", fill: unitExited},
			{has: ".service: Main process exited", fill: otherUnitExited},
			{start: "kubelet.service: Start request repeated too quickly", fill: unitExited},                                    // then systemd does not start it again
			{has: ".service: main process exited", fill: otherUnitExited},                                                       // systemd before 230
			{start: "service[kubelet](Waiting): Error running Containerd(kubelet), going to restart forever", fill: unitExited}, // Talos
			{start: "[Waiting]: Error running Containerd(kubelet), going to restart forever", fill: unitExited},                 // talosctl service
		},
	},
	{
		kind: kindKubeletNotStarted, words: "systemd could not start the kubelet",
		rules: []rule{
			{start: "Failed to start kubelet.service - ", fill: unitExited}, // systemd 250 on
			{start: "Failed to start kubelet: ", fill: unitExited},
			{start: "Job for kubelet.service failed because ", fill: unitExited}, // systemctl
		},
	},
	{
		kind: kindKubeletWatchdog, lane: LaneSyncLoop, words: "systemd watchdog timeout of the kubelet",
		rules: []rule{
			{start: "kubelet.service: ", has: "Watchdog timeout", fill: wholeMessage},
			{start: "kubelet.service: ", has: "watchdog timeout", fill: wholeMessage},
		},
	},
	{
		kind: kindKubeletStopping,
		rules: []rule{
			{start: "Stopping ", has: "ubelet", find: "Stopping kubelet|Kubernetes Kubelet", fill: unitStopping},
			{start: "Stopped ", has: "ubelet", find: "Stopped kubelet|Kubernetes Kubelet", fill: unitStopping},
		},
	},
	{
		kind: kindKubeletStarting,
		rules: []rule{
			{start: "Started kubelet: ", fill: wholeMessage},
			{start: "Started kubelet.service", fill: wholeMessage},
			{has: ".service: Scheduled restart job", fill: unitRestarts},
			{event: "KubeletRestarts", fill: unitRestarts},
		},
	},
	{
		kind: kindKubeletRuns, severity: SeverityRoutine,
		rules: []rule{{event: "KubeletRuns", fill: noCause}},
	},
	{
		kind: kindKubeletStage, severity: SeverityRoutine, byReason: true,
		rules: []rule{
			{start: "Filesystem UUIDs", fill: stage(StartCAdvisor)},
			{start: "cAdvisor running in container", fill: stage(StartCAdvisor)},
			{start: "Creating Container Manager object", fill: stage(StartContainerManager)},
			{start: "Using cri version", fill: stage(StartRuntime)},
			{start: "Container runtime initialized", fill: stage(StartRuntime)},
			{start: "Container runtime ", has: " initialized, version: ", fill: stage(StartRuntime)},
			{start: "Started kubelet", fill: started},
			{start: "Starting to listen", fill: stage(StartServer)},
			{start: "Starting Kubelet Volume Manager", fill: stage(StartVolumeManager)},
			{start: "Desired state populator starts to run", fill: stage(StartVolumeManager)},
			{start: "Successfully registered node", fill: stage(StartRegistered)},
			{has: "start to sync state", fill: stage(StartVolumeManager)},
		},
	},
}
