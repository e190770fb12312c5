// Command foreign drives client-go against a cluster: informers with and without WatchList, relists after 410, and the
// wait utilities. It prints a line for each check and exits 1 at the first that fails.
//
//	foreign -kubeconfig PATH -control URL
//
// A POST to URL/compact makes the server forget its history, one to URL/drop breaks its connections.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"
)

const (
	namespace = "foreign"
	patience  = 30 * time.Second
)

type bench struct {
	config  *rest.Config
	client  kubernetes.Interface
	control string
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of a kubeconfig")
	control := flag.String("control", "", "where compact and drop are asked for")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	exitOn("read the kubeconfig", err)
	client, err := kubernetes.NewForConfig(config)
	exitOn("make a client", err)
	b := &bench{config: config, client: client, control: *control}
	for _, check := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"an informer with WatchList sees a pod's life", b.withGate(true, b.life)},
		{"an informer without WatchList sees a pod's life", b.withGate(false, b.life)},
		{"an informer with WatchList goes on after connections were cut and history was lost", b.withGate(true, b.relist)},
		{"an informer without WatchList goes on after connections were cut and history was lost", b.withGate(false, b.relist)},
		{"a watch from a lost version gets 410", b.expired},
		{"paging through a list gives each object once", b.pages},
		{"watchtools.Until ends at the condition", b.until},
		{"wait.PollUntilContextTimeout sees a pod gone", b.gone},
		{"retry.RetryOnConflict wins against another writer", b.conflict},
		{"protobuf clients can create, read their refusal as JSON, and delete", b.protobuf},
		{"errors are known by their reason", b.reasons},
		{"an eviction removes a pod", b.evict},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
		err := check.run(ctx)
		cancel()
		exitOn(check.name, err)
		fmt.Println("ok", check.name)
	}
}

func exitOn(what string, err error) {
	if err != nil {
		fmt.Printf("FAILED %s: %v\n", what, err)
		os.Exit(1)
	}
}

type gates struct {
	features.Gates
	watchList bool
}

func (g gates) Enabled(key features.Feature) bool {
	if key == features.WatchListClient {
		return g.watchList
	}
	return g.Gates.Enabled(key)
}

func (b *bench) withGate(watchList bool, run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		before := features.FeatureGates()
		defer features.ReplaceFeatureGates(before)
		features.ReplaceFeatureGates(gates{before, watchList})
		return run(ctx)
	}
}

func pod(name string, script string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "lab.local/base:1", Command: []string{"sh", "-c", script}}},
		},
	}
}

func (b *bench) create(ctx context.Context, name string, script string) error {
	_, err := b.client.CoreV1().Pods(namespace).Create(ctx, pod(name, script), metav1.CreateOptions{})
	return err
}

func (b *bench) remove(ctx context.Context, name string) error {
	return b.client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
}

func (b *bench) ask(what string) error {
	response, err := http.Post(b.control+"/"+what, "text/plain", nil)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// journal keeps what handlers were told, as "added Pending", "updated Running", "deleted".
type journal struct {
	mutex sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.lines = append(j.lines, line)
}

// has says whether one of these was told.
func (j *journal) has(lines ...string) bool {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	for _, one := range j.lines {
		if slices.Contains(lines, one) {
			return true
		}
	}
	return false
}

// await waits for one of these.
func (j *journal) await(ctx context.Context, lines ...string) error {
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return j.has(lines...), nil
	})
	if err != nil {
		return fmt.Errorf("%q was never told, but %q: %w", lines, j.lines, err)
	}
	return nil
}

func (b *bench) inform(ctx context.Context) (*journal, error) {
	j := &journal{}
	factory := informers.NewSharedInformerFactoryWithOptions(b.client, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().Pods().Informer()
	name := func(object any, what string) {
		if p, ok := object.(*corev1.Pod); ok {
			j.add(fmt.Sprintf("%s %s %s", p.Name, what, p.Status.Phase))
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { name(object, "added") },
		UpdateFunc: func(_, object any) { name(object, "updated") },
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			name(object, "deleted")
		},
	})
	if err != nil {
		return nil, err
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, errors.New("the informer never synced")
	}
	return j, nil
}

func (b *bench) life(ctx context.Context) error {
	if err := b.create(ctx, "before", "true"); err != nil {
		return err
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	j, err := b.inform(inner)
	if err != nil {
		return err
	}
	// Long enough to be seen running on a busy machine.
	if err := b.create(ctx, "life", "sleep 3"); err != nil {
		return err
	}
	for _, line := range []string{"life added Pending", "life updated Running", "life updated Succeeded"} {
		if err := j.await(ctx, line); err != nil {
			return err
		}
	}
	if err := j.await(ctx, "before updated Succeeded", "before added Succeeded"); err != nil {
		return err
	}
	if err := errors.Join(b.remove(ctx, "life"), b.remove(ctx, "before")); err != nil {
		return err
	}
	return errors.Join(j.await(ctx, "life deleted Succeeded"), j.await(ctx, "before deleted Succeeded"))
}

func (b *bench) relist(ctx context.Context) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := b.create(ctx, "goes", "sleep 100"); err != nil {
		return err
	}
	j, err := b.inform(inner)
	if err != nil {
		return err
	}
	if err := b.ask("drop"); err != nil {
		return err
	}
	err = errors.Join(b.remove(ctx, "goes"), b.create(ctx, "comes", "sleep 100"), b.ask("compact"))
	if err != nil {
		return err
	}
	// An informer that lists anew may find it running.
	if err := j.await(ctx, "comes updated Running", "comes added Running"); err != nil {
		return err
	}
	if !j.has("goes deleted Running", "goes deleted Pending") {
		return fmt.Errorf("the pod that went was not told: %q", j.lines)
	}
	return b.remove(ctx, "comes")
}

func (b *bench) expired(ctx context.Context) error {
	if err := errors.Join(b.create(ctx, "new", "true"), b.ask("compact"), b.remove(ctx, "new")); err != nil {
		return err
	}
	watcher, err := b.client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: "1"})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	event := <-watcher.ResultChan()
	if event.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
		return fmt.Errorf("got %v %v", event.Type, event.Object)
	}
	return nil
}

func (b *bench) pages(ctx context.Context) error {
	maps := b.client.CoreV1().ConfigMaps(namespace)
	for n := range 7 {
		named := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("page-%d", n), Labels: map[string]string{"page": "yes"}}}
		if _, err := maps.Create(ctx, named, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	seen := map[string]int{}
	options := metav1.ListOptions{Limit: 3, LabelSelector: "page=yes"}
	for {
		list, err := maps.List(ctx, options)
		if err != nil {
			return err
		}
		for _, one := range list.Items {
			seen[one.Name]++
		}
		if options.Continue = list.Continue; options.Continue == "" {
			break
		}
	}
	if len(seen) != 7 {
		return fmt.Errorf("saw %v", seen)
	}
	return maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "page=yes"})
}

func (b *bench) until(ctx context.Context) error {
	if err := b.create(ctx, "until", "exit 3"); err != nil {
		return err
	}
	selector := fields.OneTermEqualSelector("metadata.name", "until").String()
	lister := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			return b.client.CoreV1().Pods(namespace).List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return b.client.CoreV1().Pods(namespace).Watch(ctx, options)
		},
	}
	event, err := watchtools.UntilWithSync(ctx, lister, &corev1.Pod{}, nil, func(event watch.Event) (bool, error) {
		p, ok := event.Object.(*corev1.Pod)
		return ok && p.Status.Phase == corev1.PodFailed, nil
	})
	if err != nil {
		return err
	}
	state := event.Object.(*corev1.Pod).Status.ContainerStatuses[0].State.Terminated
	if state == nil || state.ExitCode != 3 {
		return fmt.Errorf("terminated with %v", state)
	}
	return b.remove(ctx, "until")
}

func (b *bench) gone(ctx context.Context) error {
	if err := errors.Join(b.create(ctx, "gone", "sleep 100"), b.remove(ctx, "gone")); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, err := b.client.CoreV1().Pods(namespace).Get(ctx, "gone", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

func (b *bench) conflict(ctx context.Context) error {
	maps := b.client.CoreV1().ConfigMaps(namespace)
	if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "contested"}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	tries := 0
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		tries++
		current, err := maps.Get(ctx, "contested", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if tries == 1 {
			patch := []byte(`{"data":{"other":"writer"}}`)
			if _, err := maps.Patch(ctx, "contested", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				return err
			}
		}
		if current.Data == nil {
			current.Data = map[string]string{}
		}
		current.Data["own"] = "value"
		_, err = maps.Update(ctx, current, metav1.UpdateOptions{})
		return err
	})
	if err != nil || tries != 2 {
		return fmt.Errorf("%d tries: %w", tries, err)
	}
	return maps.Delete(ctx, "contested", metav1.DeleteOptions{})
}

func (b *bench) protobuf(ctx context.Context) error {
	config := rest.CopyConfig(b.config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	maps := client.CoreV1().ConfigMaps(namespace)
	named := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "binary"}, Data: map[string]string{"a": "b"}, BinaryData: map[string][]byte{"c": {0, 255}}}
	if _, err := maps.Create(ctx, named, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := maps.Create(ctx, named, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("the second create gave %w", err)
	}
	read, err := maps.Get(ctx, "binary", metav1.GetOptions{})
	if err != nil || read.Data["a"] != "b" || len(read.BinaryData["c"]) != 2 {
		return fmt.Errorf("read %v: %w", read, err)
	}
	return maps.Delete(ctx, "binary", *metav1.NewPreconditionDeleteOptions(string(read.UID)))
}

func (b *bench) reasons(ctx context.Context) error {
	pods := b.client.CoreV1().Pods(namespace)
	_, missing := pods.Get(ctx, "nothing", metav1.GetOptions{})
	_, invalid := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "none"}}, metav1.CreateOptions{})
	_, elsewhere := b.client.CoreV1().Pods("nowhere").Create(ctx, pod("a", "true"), metav1.CreateOptions{})
	_, media := pods.Patch(ctx, "nothing", types.PatchType("text/plain"), []byte("{}"), metav1.PatchOptions{})
	_, future := pods.List(ctx, metav1.ListOptions{ResourceVersion: "99999999999"})
	for what, is := range map[string]bool{
		"NotFound":             apierrors.IsNotFound(missing),
		"Invalid":              apierrors.IsInvalid(invalid),
		"NotFound (namespace)": apierrors.IsNotFound(elsewhere),
		"UnsupportedMediaType": apierrors.IsUnsupportedMediaType(media),
		"Timeout":              apierrors.IsTimeout(future) && apierrors.HasStatusCause(future, metav1.CauseTypeResourceVersionTooLarge),
	} {
		if !is {
			return fmt.Errorf("%s was not told from %v, %v, %v, %v, %v", what, missing, invalid, elsewhere, media, future)
		}
	}
	return nil
}

func (b *bench) evict(ctx context.Context) error {
	if err := b.create(ctx, "evicted", "sleep 100"); err != nil {
		return err
	}
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "evicted", Namespace: namespace}, DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: new(int64)}}
	if err := b.client.PolicyV1().Evictions(namespace).Evict(ctx, eviction); err != nil {
		return err
	}
	_, err := b.client.CoreV1().Pods(namespace).Get(ctx, "evicted", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("the pod is still there: %w", err)
	}
	return nil
}
