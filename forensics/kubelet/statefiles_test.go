package kubelet

import (
	"slices"
	"testing"
)

func TestParseStateFile(t *testing.T) {
	const a, b, hash = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222", "2fa11937efabc40db85278b553e1ceeb"
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"allocated_pods_state, 1.34", `{"data":"{\"entries\":{\"` + b + `\":{\"ContainerResources\":{\"c\":{}}},\"` + hash + `\":{}}}","checksum":1}`, []string{b, hash}},
		{"allocated_pods_state, 1.33", `{"data":"{\"allocationEntries\":{\"` + a + `\":{\"c\":{}}}}","checksum":1}`, []string{a}},
		{"no pods", `{"data":"{}","checksum":1}`, nil},
		{"cpu_manager_state", `{"policyName":"static","defaultCpuSet":"0-1","entries":{"` + a + `":{"c":"2-3"}},"checksum":1}`, []string{a}},
		{"cpu_manager_state, by container", `{"policyName":"static","defaultCpuSet":"0-1","entries":{"` + a + `0000":"2-3"},"checksum":1}`, nil},
		{"memory_manager_state", `{"policyName":"Static","machineState":{},"entries":{"` + a + `":{"c":[{"numaAffinity":[0],"type":"memory","size":1}]}},"checksum":1}`, []string{a}},
		{"kubelet_internal_checkpoint", `{"Data":{"PodDeviceEntries":[{"PodUID":"` + b + `","ContainerName":"c","ResourceName":"x/y","DeviceIDs":{"-1":["d"]},"AllocResp":"AA=="},{"PodUID":"` + a + `"},{"PodUID":"` + a + `"}],"RegisteredDevices":{"x/y":["d"]}},"Checksum":1}`, []string{a, b}},
		{"kubelet_internal_checkpoint, none", `{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1}`, nil},
		{"dra_manager_state", `{"data":"{\"ClaimInfoStateList\":[{\"ClaimUID\":\"x\",\"PodUIDs\":{\"` + b + `\":{}}}]}","checksum":1}`, []string{b}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseStateFile([]byte(tt.text))
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%v, %v; want %v", got, err, tt.want)
			}
		})
	}
	for _, text := range []string{"", "{", `{"data":"{"}`, `[]`, `{"data":3}`} {
		if got, err := parseStateFile([]byte(text)); err == nil {
			t.Errorf("%q: %v and no error", text, got)
		}
	}
}
