/**
 * OpenTelemetry spans of a hub: build → pod → step, and in a step its pull, its start and its run.
 *
 * Only the API package is used: without an SDK that the user sets up, nothing is recorded and nothing is sent. Times
 * are those of the events. A span ends when its actor does, and everything that is open ends with `close`.
 */
import { context, type Span, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { isSuccess, type Outcome } from '../../machines/outcome.ts';
import type { EventHub } from './hub.ts';
import type { ContainerStateName, PodwrightEvent } from './types.ts';

export interface SpansOptions {
  readonly hub: EventHub;
  /** Default: that of the globally registered provider. */
  readonly tracer?: Tracer;
}

/** Returns what ends it. */
export function traceHub({ hub, tracer = trace.getTracer('podwright') }: SpansOptions): () => void {
  const spans = new Spans(tracer);
  const unlisten = hub.listen((event) => spans.take(event));
  return () => {
    unlisten();
    spans.close();
  };
}

const phaseNames: Readonly<Partial<Record<ContainerStateName, string>>> = {
  pending: 'start',
  pulling: 'pull',
  running: 'run',
};

interface OpenStep {
  readonly span: Span;
  phase: Span | null;
  /** When the phase began. */
  since: number;
}

interface OpenBuild {
  readonly span: Span;
  pod: Span | null;
  readonly steps: Map<string, OpenStep>;
}

class Spans {
  readonly #tracer: Tracer;
  readonly #builds = new Map<string, OpenBuild>();
  #now = 0;

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  take(event: PodwrightEvent): void {
    this.#now = event.at;
    if (event.type === 'build.planned') {
      const attributes = { 'podwright.build': event.build, 'podwright.containers': event.containers.length };
      const span = this.#tracer.startSpan(`build ${event.name}`, { startTime: event.at, attributes, root: true });
      this.#builds.set(event.build, { span, pod: null, steps: new Map() });
      return;
    }
    if (!('build' in event) || event.build === null) return;
    const build = this.#builds.get(event.build);
    if (build === undefined) return;
    switch (event.type) {
      case 'build.changed':
        this.#build(event, build);
        break;
      case 'pod.changed':
        this.#pod(event, build);
        break;
      case 'container.requested':
        this.#step(event.container, build);
        break;
      case 'container.changed':
        this.#container(event, build);
        break;
      case 'kube.event': {
        const span = (event.container === null ? undefined : build.steps.get(event.container)?.span) ?? build.pod;
        const attributes = { 'k8s.event.reason': event.reason, 'k8s.event.message': event.message };
        span?.addEvent(`k8s.event ${event.reason}`, attributes, event.at);
        break;
      }
      case 'build.forgotten':
      case 'debug.started':
      case 'debug.terminated':
      case 'debug.refused':
      case 'debug.forwarded':
        break;
    }
  }

  close(): void {
    for (const [id, build] of this.#builds) this.#end(id, build);
  }

  #build(event: Extract<PodwrightEvent, { type: 'build.changed' }>, build: OpenBuild): void {
    build.span.addEvent(event.to, undefined, event.at);
    if (event.to === 'failed' || event.to === 'errored') {
      build.span.setStatus({ code: SpanStatusCode.ERROR, message: event.message ?? event.to });
    }
    if (event.to === 'succeeded') build.span.setStatus({ code: SpanStatusCode.OK });
    if (event.to === 'removed') this.#end(event.build, build);
  }

  #pod(event: Extract<PodwrightEvent, { type: 'pod.changed' }>, build: OpenBuild): void {
    build.pod ??= this.#child(build.span, `pod ${event.pod.name}`, {
      'k8s.namespace.name': event.pod.namespace,
      'k8s.pod.name': event.pod.name,
      'k8s.pod.uid': event.pod.uid,
    });
    build.pod.addEvent(event.to, undefined, event.at);
    if (event.node !== null) build.pod.setAttribute('k8s.node.name', event.node);
    if (event.cause !== null) {
      build.pod.setStatus({ code: SpanStatusCode.ERROR, message: `${event.cause}: ${event.message ?? ''}` });
    }
    if (event.to === 'gone') build.pod.end(event.at);
  }

  #step(container: string, build: OpenBuild): OpenStep {
    let step = build.steps.get(container);
    if (step === undefined) {
      const span = this.#child(build.pod ?? build.span, `step ${container}`, { 'k8s.container.name': container });
      step = { span, phase: this.#child(span, 'start', {}), since: this.#now };
      build.steps.set(container, step);
    }
    return step;
  }

  #container(event: Extract<PodwrightEvent, { type: 'container.changed' }>, build: OpenBuild): void {
    const step = this.#step(event.container, build);
    if (event.from !== 'running') this.#ranUnseen(step, event.outcome);
    step.phase?.end(event.at);
    step.span.setAttribute('container.image.name', event.image);
    const phase = phaseNames[event.to];
    step.phase = phase === undefined ? null : this.#child(step.span, phase, {});
    step.since = event.at;
    const { outcome } = event;
    if (phase !== undefined || outcome === null) return;
    step.span.setAttribute('podwright.outcome', outcome.outcome);
    if (outcome.outcome === 'terminated') {
      step.span.setAttribute('podwright.cause', outcome.cause);
      if (outcome.exitCode !== null) step.span.setAttribute('process.exit.code', outcome.exitCode);
    }
    if (outcome.outcome === 'pullFailed') step.span.setAttribute('podwright.pull_failure', outcome.class);
    const message = 'message' in outcome ? (outcome.message ?? outcome.outcome) : outcome.outcome;
    step.span.setStatus(isSuccess(outcome) ? { code: SpanStatusCode.OK } : { code: SpanStatusCode.ERROR, message });
    step.span.end(event.at);
  }

  /** What ended before anybody saw it run has run all the same: since when, the cluster says, in whole seconds. */
  #ranUnseen(step: OpenStep, outcome: Outcome | null): void {
    if (outcome?.outcome !== 'terminated' || outcome.startedAt === null) return;
    const began = Math.min(Math.max(step.since, Date.parse(outcome.startedAt)), this.#now);
    step.phase?.end(began);
    step.phase = this.#child(step.span, 'run', {}, began);
  }

  #child(parent: Span, name: string, attributes: Readonly<Record<string, string>>, startTime = this.#now): Span {
    return this.#tracer.startSpan(name, { startTime, attributes }, trace.setSpan(context.active(), parent));
  }

  #end(id: string, build: OpenBuild): void {
    this.#builds.delete(id);
    for (const { span, phase } of build.steps.values()) {
      if (phase?.isRecording()) phase.end(this.#now);
      if (span.isRecording()) span.end(this.#now);
    }
    if (build.pod?.isRecording()) build.pod.end(this.#now);
    build.span.end(this.#now);
  }
}
