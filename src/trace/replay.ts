/**
 * Plays a recording through the store, the projection and the machines that ship, on a clock that the recording moves.
 *
 * Every pod of the recording is a build of its own, with the containers of its spec. Verdicts are what the machines
 * have at the recording's end: what time alone would have decided later is not decided.
 */
import type { Outcome } from '../../machines/outcome.ts';
import { VirtualClock } from '../clock.ts';
import { type Delta, Store } from '../kube/store.ts';
import { trimEvent, trimPod } from '../pod/trim.ts';
import type { Pod } from '../pod/types.ts';
import { BuildActors, type GracePolicy, type InspectionHandler, type StateChange } from '../runtime/actors.ts';
import { type Play, type Step, startedAtOnce } from './play.ts';
import type { PlaceholderImage } from './recording.ts';

export interface ReplayOptions {
  readonly grace?: Partial<GracePolicy>;
  /** Gets xstate's inspection events of every actor. */
  readonly inspect?: InspectionHandler;
  /** Told as it happens, with the clock at its moment. */
  readonly onChange?: (pod: ReplayedPod, change: StateChange) => void;
  /** Told after every step, for checks. */
  readonly onStep?: (replay: Replay, step: Step) => void;
}

export interface ReplayedPod {
  readonly name: string;
  readonly uid: string;
  /** In the order of the spec. */
  readonly containers: readonly string[];
  readonly actors: BuildActors;
}

/** What `podwright replay --json` prints of a container. Fields that do not apply to the outcome are absent. */
export interface ReplayVerdict {
  readonly name: string;
  readonly outcome: 'idle' | 'pending' | 'pulling' | Outcome['outcome'];
  readonly exitCode?: number | null;
  readonly cause?: string;
  readonly class?: string;
  readonly permanent?: boolean;
  /** Seconds of the recording. */
  readonly decidedAt?: number;
}

export interface ReplayResult {
  readonly pods: readonly {
    readonly name: string;
    readonly uid: string;
    readonly containers: readonly ReplayVerdict[];
  }[];
}

export function replay(play: Play, options: ReplayOptions = {}): ReplayResult {
  const run = new Replay(options);
  for (const step of play.steps) run.take(step);
  return run.end(play.endsAt);
}

export class Replay {
  readonly #options: ReplayOptions;
  readonly #clock = new VirtualClock(0);
  readonly #store = new Store<Pod>();
  readonly #pods = new Map<string, ReplayedPod>();

  constructor(options: ReplayOptions = {}) {
    this.#options = options;
  }

  /** In order of first appearance. */
  get pods(): readonly ReplayedPod[] {
    return [...this.#pods.values()];
  }

  /** What only time decides until then is decided, each thing at its own moment. */
  passTimeTo(at: number): void {
    this.#clock.advanceTo(at);
  }

  /** The time moves to the step's moment first. */
  take(step: Step): void {
    this.passTimeTo(step.at);
    switch (step.kind) {
      case 'created':
        this.#create(step);
        break;
      case 'request':
        this.#pods.get(step.uid)?.actors.request(step.container, step.image);
        break;
      case 'cancel':
        this.#pods.get(step.uid)?.actors.cancel('caller');
        break;
      case 'podList':
        this.#deliver(this.#store.replace(step.items.map(trimPod)));
        break;
      case 'podFrame':
        this.#frame(step);
        break;
      case 'event':
        for (const { actors } of this.#pods.values()) actors.observeEvent(trimEvent(step.event));
        break;
    }
    this.#options.onStep?.(this, step);
  }

  /** The clock goes to the end of the recording; then nothing moves any more. */
  end(at: number): ReplayResult {
    this.passTimeTo(at);
    const result = this.result();
    for (const { actors } of this.#pods.values()) actors.close();
    return result;
  }

  result(): ReplayResult {
    return {
      pods: this.pods.map(({ name, uid, containers, actors }) => ({
        name,
        uid,
        containers: containers.map((container) => verdictOf(actors, container)),
      })),
    };
  }

  #create({ pod, placeholders, wasSeenLate }: Extract<Step, { kind: 'created' }>): void {
    const { name, uid } = pod.metadata;
    const containers = (pod.spec?.containers ?? []).map((container) => container.name);
    const atOnce = wasSeenLate ? [] : startedAtOnce(pod, placeholders);
    const { grace, inspect, onChange } = this.#options;
    const actors = new BuildActors({
      id: uid,
      containers: containers.map((container) => ({ name: container, atStart: atOnce.includes(container) })),
      clock: this.#clock,
      ...(grace === undefined ? {} : { grace }),
      ...(inspect === undefined ? {} : { inspect }),
    });
    const replayed: ReplayedPod = { name, uid, containers, actors };
    this.#pods.set(uid, replayed);
    if (onChange !== undefined) actors.subscribe((change) => onChange(replayed, change));
    actors.assembling();
    actors.created(trimPod(pod), {
      placeholderImages: placeholders.map(({ image }) => image),
      sigtermCode: sigtermCodeOf(pod, placeholders),
    });
  }

  /** A recording with holes may bring the end of a pod that it has never shown. */
  #frame({ type, pod }: Extract<Step, { kind: 'podFrame' }>): void {
    const object = trimPod(pod);
    const deltas = this.#store.apply({ type, object });
    this.#deliver(deltas);
    const isUnknown = type === 'DELETED' && deltas.length === 0;
    if (isUnknown) this.#pods.get(object.metadata.uid)?.actors.observeGone(object, true);
  }

  #deliver(deltas: readonly Delta<Pod>[]): void {
    for (const { kind, object, finalStateKnown } of deltas) {
      const actors = this.#pods.get(object.metadata.uid)?.actors;
      if (kind === 'deleted') actors?.observeGone(object, finalStateKnown);
      else actors?.observePod(object);
    }
  }
}

function sigtermCodeOf(pod: Pod, placeholders: readonly PlaceholderImage[]): number {
  // A pod that was seen late shows its placeholders in its status only.
  const shown = [...(pod.spec?.containers ?? []), ...(pod.status?.containerStatuses ?? [])];
  const images = new Set(shown.map(({ image }) => image));
  return placeholders.find(({ image }) => images.has(image))?.sigtermCode ?? 0;
}

function verdictOf(actors: BuildActors, name: string): ReplayVerdict {
  const { state, requested, outcome } = actors.container(name);
  if (!requested) return { name, outcome: 'idle' };
  if (outcome === null) return { name, outcome: state === 'pulling' ? 'pulling' : 'pending' };
  const decidedAt = outcome.provenance.decidedAt / 1000;
  switch (outcome.outcome) {
    case 'terminated':
      return { name, outcome: outcome.outcome, exitCode: outcome.exitCode, cause: outcome.cause, decidedAt };
    case 'pullFailed':
      return { name, outcome: outcome.outcome, class: outcome.class, permanent: outcome.permanent, decidedAt };
    case 'running':
    case 'canceled':
      return { name, outcome: outcome.outcome, decidedAt };
  }
}
