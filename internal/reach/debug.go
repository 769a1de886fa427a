package reach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// debugName is the pod that kubectl debug says it has made.
var debugName = pattern.New(`\bnode-debugger-[a-z0-9.-]*[a-z0-9]\b`)

// debug is the third way: a new pod, which a node that hangs does not start.
func (e *examination) debug(ctx context.Context) (string, error) {
	if e.DebugImage == "" {
		return "", errors.New(NotGiven)
	}
	var n Node
	err := e.get(ctx, func(r io.Reader) error { return json.NewDecoder(io.LimitReader(r, 16<<20)).Decode(&n) }, "node", e.node)
	if err != nil {
		return "", fmt.Errorf("the node: %w", err)
	}
	if err := n.notReady(); err != nil {
		return "", err
	}
	e.say("starting a debug pod with the image %s", e.DebugImage)
	args := e.kubectl("debug", "node/"+e.node, "--namespace=default", "--profile=sysadmin", "--image="+e.DebugImage, "--attach=false",
		"--", "sleep", fmt.Sprint(int((startLimit + bringLimit + e.Examination).Seconds())))
	said, words := &tail{most: mostWords}, &tail{most: 4 << 10}
	err = runBoth(ctx, askLimit, args, nil, said, mostWords, words)
	pod := debugName.FindString(string(said.text) + "\n" + string(words.text))
	switch {
	case refused(err): // kubectl names the pod before it asks for it
		return "", err
	case pod != "":
	case err == nil || ctx.Err() != nil:
		e.result.Left = append(e.result.Left, "possibly a debug pod: kubectl get pods --namespace=default --field-selector=spec.nodeName="+e.node)
		return "", errors.Join(err, errors.New("kubectl debug did not say which pod it has made"))
	default:
		return "", err
	}
	name := "debug pod default/" + pod
	defer e.deletePod(pod)
	if _, err := runText(ctx, startLimit+askLimit, e.kubectl("wait", "pod/"+pod, "--namespace=default", "--for=condition=Ready", "--timeout="+startLimit.String())); err != nil {
		e.result.Left = append(e.result.Left, "pod default/"+pod+" is being deleted; the kubelet does that when it responds")
		return name, fmt.Errorf("it did not start within %v: %w", startLimit, err)
	}
	p, err := e.getPod(ctx, "default", pod)
	if err != nil {
		return name, err
	}
	if err := p.privileged(p.Spec.Containers[0]); err != nil {
		return name, err
	}
	e.say("using %s", name)
	return name, e.bring(ctx, direct(e.inPod(p, p.Spec.Containers[0].Name)), nil)
}

// refused says whether the API server refused to make an object.
func refused(err error) bool {
	var f *failure
	return errors.As(err, &f) && refusal.MatchString(f.words)
}

var refusal = pattern.New(`^(?:error: )?Error from server \((?:Forbidden|Invalid|BadRequest|NotFound|Unauthorized|MethodNotAllowed)\): `)

// deletePod deletes a debug pod, also when the caller does not want to wait any longer.
func (e *examination) deletePod(pod string) {
	args := e.kubectl("delete", "pod", pod, "--namespace=default", "--wait=false", "--grace-period=1", "--request-timeout=8s")
	if said, err := runText(context.Background(), removeLimit, args); err != nil || !strings.Contains(said, pod) {
		e.result.Left = append(e.result.Left, "pod default/"+pod+": kubectl delete pod --namespace=default "+pod)
	}
}
