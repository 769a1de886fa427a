// Package live asks the API server of a node's kubelet for the pods of that node and its Node object, as the kubelet itself does: with
// the kubelet's kubeconfig and its own client certificate or token.
//
// Nothing else is read or sent. A program that a kubeconfig names (exec, auth-provider) is not run. The server must be one that the
// certificate authority of the kubeconfig vouches for; there are no proxies, no redirects, and no connections kept. A process that is
// not proven to be the node's kubelet (kubelet.Instance.Unproven) is not believed: no file that it names is opened.
//
// It rests on the Node authorizer (plugin/pkg/auth/authorizer/node, 1.8): a node lists the pods that are bound to it and reads
// its own Node; since 1.32 the list needs the field selector that is sent here. The kubeconfig's fields are those of
// k8s.io/client-go/tools/clientcmd/api/v1.
package live
