package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

type kubeletView struct {
	Facts      []fact
	Endpoints  []endpointRow
	Flags      []fact
	Config     []fact
	Metrics    []fact
	MetricsCut int
}

type endpointRow struct {
	URL      shown
	Mark     mark
	Code     string
	Failed   shown
	Detail   shown
	Seconds  float64
	Took     string
	Verified shown
}

func newKubeletView(r Report, places *places) *kubeletView {
	k := r.Evidence.Kubelet
	if k == nil {
		return nil
	}
	places.put(forensics.KindKubelet, "kubelet", "kubelet")
	v := &kubeletView{Facts: kubeletFacts(k, r), Config: configFacts(k.Config)}
	if k.PID != 0 {
		places.put(forensics.KindKubelet, strconv.Itoa(k.PID), "kubelet")
		places.put(forensics.KindProcess, strconv.Itoa(k.PID), "kubelet")
	}
	room := budget(budgetRest)
	for _, e := range k.Endpoints {
		row := newEndpoint(e)
		if room.fits(row, 250) {
			v.Endpoints = append(v.Endpoints, row)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.Flags)) {
		f := fact{cell("--"+name, 120), cell(k.Flags[name], maxCell)}
		if room.fits(f, 60) {
			v.Flags = append(v.Flags, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.Metrics)) {
		f := fact{cell(name, maxCell), shown(strconv.FormatFloat(k.Metrics[name], 'g', -1, 64))}
		if !room.fits(f, 60) {
			v.MetricsCut++
			continue
		}
		v.Metrics = append(v.Metrics, f)
	}
	return v
}

// maxImpostorsShown is how many the page has; the JSON has more.
const maxImpostorsShown = 10

func kubeletFacts(k *kubelet.Instance, r Report) []fact {
	facts := factList{}
	if k.PID != 0 {
		facts.add("Process", strconv.Itoa(k.PID)+stateSuffix(k.State))
	} else {
		facts.add("Process", processWords(r))
	}
	facts.add("Expected", k.Expected)
	facts.add("Program", k.Program)
	facts.add("Executable", k.Executable)
	if k.Version != "" {
		facts.add("Version", k.Version+suffix(" (from ", k.VersionFrom, ")"))
	}
	if k.Started != nil {
		facts.add("Started", text.Moment(*k.Started)+suffix(", ", age(*k.Started, r.Evidence.Collected), " before collection"))
	}
	facts.add("Node name", k.NodeName)
	facts.add("Root directory", k.RootDir)
	if k.CanonicalRoot != k.RootDir {
		facts.add("Resolved root directory", k.CanonicalRoot)
	}
	facts.add("Configuration", k.ConfigPath)
	facts.add("Static pods", k.StaticPodPath)
	if k.MountNS != 0 {
		facts.add("Mount namespace", strconv.FormatUint(k.MountNS, 10))
	}
	if k.Unproven != "" {
		facts.add("Not verified", "it is not known whether this is the kubelet of the node, so it got no credentials: it "+k.Unproven)
	}
	for _, i := range k.Impostors[:min(len(k.Impostors), maxImpostorsShown)] {
		facts.add("Rejected", fmt.Sprintf("process %d has the name kubelet, but %s", i.PID, i.Reason))
	}
	if more := len(k.Impostors) + k.MoreImpostors - maxImpostorsShown; more > 0 {
		facts.add("Rejected", fmt.Sprintf("%d more", more))
	}
	if len(k.Others) > 0 {
		facts.add("Other kubelets", joinInts(k.Others, ", "))
	}
	return facts
}

// processWords says why the kubelet has no process.
func processWords(r Report) string {
	if ok, _ := r.Evidence.Saw(forensics.SourceProcesses); !ok {
		return "not collected"
	}
	return "not running"
}

func stateSuffix(state string) string { return suffix(", state ", stateWords(state), "") }

// suffix is empty where s is.
func suffix(before, s, after string) string {
	if s == "" {
		return ""
	}
	return before + s + after
}

func newEndpoint(e kubelet.Endpoint) endpointRow {
	row := endpointRow{
		URL: cell(e.URL, maxCell), Mark: mark{endpointTone(e.Status), cell(e.Status, 60)},
		Failed: cell(joinComma(e.Failed), maxCell), Detail: cell(e.Detail, maxCell),
		Seconds: e.Seconds, Took: text.Duration(e.Seconds), Verified: cell(e.Verified, 60),
	}
	if e.Code != 0 {
		row.Code = strconv.Itoa(e.Code)
	}
	return row
}

func endpointTone(status string) tone {
	switch status {
	case "ok":
		return toneGood
	case "unhealthy":
		return toneBad
	case "timeout", "refused":
		return toneWarn
	}
	return toneQuiet
}

// configFacts lists the configuration under its own names, in their order.
func configFacts(c *kubelet.Config) []fact {
	if c == nil {
		return nil
	}
	data, err := json.Marshal(c)
	if err != nil {
		return nil
	}
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &values); err != nil {
		return nil
	}
	facts := factList{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		var text string
		if json.Unmarshal(values[name], &text) != nil {
			text = string(values[name])
		}
		facts.add(name, text)
	}
	return facts
}
