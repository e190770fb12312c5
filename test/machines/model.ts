/**
 * Paths from the machines themselves: `xstate/graph` explores them, and each path is then walked on something else.
 *
 * A machine's messages carry facts, so that each case here is a message together with what a cluster, a caller or a
 * clock must do for it to come about.
 */
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type EventObject,
  type InspectionEvent,
  initialTransition,
  transition,
} from 'xstate';
import { getShortestPaths, toDirectedGraph } from 'xstate/graph';

/** What the world does so that a message comes about. */
export interface Case<THands> {
  readonly name: string;
  readonly message: EventObject;
  readonly perform: (hands: THands) => void | Promise<void>;
}

export interface Model<THands> {
  readonly machine: AnyStateMachine;
  readonly input: object;
  readonly cases: readonly Case<THands>[];
  /** What of the context decides what can happen next. */
  readonly key: (context: never) => unknown;
}

export interface Walk<THands> {
  readonly steps: readonly { readonly case: Case<THands>; readonly expected: string }[];
  /** Transitions that the machine takes on the way. */
  readonly transitions: ReadonlySet<object>;
}

export interface Edge {
  readonly transition: object;
  readonly name: string;
}

/** Every transition that the machine has, guards told apart. */
export function edgesOf(machine: AnyStateMachine): readonly Edge[] {
  const walk = (node: ReturnType<typeof toDirectedGraph>): readonly Edge[] => [
    ...node.edges.map(({ source, target, label, transition: edge }) => {
      const guard = typeof edge.guard === 'string' ? ` [${edge.guard}]` : '';
      return { transition: edge, name: `${source.key} --${label.text}${guard}--> ${target.key}` };
    }),
    ...node.children.flatMap(walk),
  ];
  return walk(toDirectedGraph(machine));
}

/** A walk as a sentence: a test's name. */
export function nameOf<THands>({ steps }: Walk<THands>): string {
  return steps.map(({ case: { name }, expected }) => `${name} → ${expected}`).join(', ');
}

/** The shortest path to every state with every message after it that does something there. */
export function allWalks<THands>(model: Model<THands>): readonly Walk<THands>[] {
  const { machine, input, cases } = model;
  const serializeState = (snapshot: AnyMachineSnapshot): string =>
    JSON.stringify([snapshot.value, model.key(snapshot.context as never)]);
  const byMessage = new Map<EventObject, Case<THands>>(cases.map((one) => [one.message, one]));
  const paths = getShortestPaths(machine, {
    input: input as never,
    events: cases.map(({ message }) => message) as never,
    serializeState: serializeState as never,
  });
  return paths.flatMap(({ state, steps }) => {
    const before = steps.filter(({ event }) => byMessage.has(event as EventObject));
    if ((state as AnyMachineSnapshot).status !== 'active') return [];
    return cases.flatMap((last): readonly Walk<THands>[] => {
      if (machine.getTransitionData(state, last.message).length === 0) return [];
      return [walkOf(model, [...before.map(({ event }) => byMessage.get(event as EventObject) ?? last), last])];
    });
  });
}

/** The walk over the cases of these names. */
export function walkOver<THands>(model: Model<THands>, ...names: readonly string[]): Walk<THands> {
  return walkOf(
    model,
    names.map((name) => {
      const found = model.cases.find((one) => one.name === name);
      if (found === undefined) throw new Error(`the model has no case ${name}`);
      return found;
    }),
  );
}

/** The fewest of the walks that together take every transition. */
export function coveringWalks<THands>(model: Model<THands>): readonly Walk<THands>[] {
  const open = new Set(edgesOf(model.machine).map(({ transition }) => transition));
  const candidates = [...allWalks(model)].sort((left, right) => right.steps.length - left.steps.length);
  const chosen: Walk<THands>[] = [];
  while (open.size > 0) {
    const gain = ({ transitions }: Walk<THands>): number => [...transitions].filter((one) => open.has(one)).length;
    const best = candidates.reduce((left, right) => (gain(right) > gain(left) ? right : left));
    if (gain(best) === 0) break;
    chosen.push(best);
    for (const transition of best.transitions) open.delete(transition);
  }
  return chosen;
}

function walkOf<THands>({ machine, input }: Model<THands>, cases: readonly Case<THands>[]): Walk<THands> {
  let [snapshot] = initialTransition(machine, input as never) as [AnyMachineSnapshot, unknown];
  const transitions = new Set<object>();
  const steps = cases.map((one) => {
    for (const taken of machine.getTransitionData(snapshot, one.message)) transitions.add(taken);
    [snapshot] = transition(machine, snapshot, one.message as never) as [AnyMachineSnapshot, unknown];
    return { case: one, expected: String(snapshot.value) };
  });
  return { steps, transitions };
}

/** Which of a machine's transitions were really taken, by any of its actors. */
export class Coverage {
  readonly #taken = new Set<object>();
  readonly #states = new Set<string>();

  readonly inspect = (event: InspectionEvent): void => {
    if (event.type !== '@xstate.microstep') return;
    for (const transition of event._transitions) this.#taken.add(transition);
    const { machine, value } = event.snapshot as AnyMachineSnapshot;
    this.#states.add(`${machine.id}.${String(value)}`);
  };

  report(machine: AnyStateMachine): { readonly missing: readonly string[]; readonly text: string } {
    const edges = edgesOf(machine);
    const states = Object.keys(machine.states).map((state) => `${machine.id}.${state}`);
    const missing = [
      ...states.filter((state) => !this.#states.has(state) && state !== `${machine.id}.${initialOf(machine)}`),
      ...edges.filter(({ transition }) => !this.#taken.has(transition)).map(({ name }) => name),
    ];
    const total = edges.length + states.length;
    const text = `${machine.id}: ${states.length} states, ${edges.length} transitions, ${total - missing.length} of ${total} taken`;
    return { missing, text };
  }
}

function initialOf(machine: AnyStateMachine): string {
  return machine.root.initial.target?.[0]?.key ?? '';
}
