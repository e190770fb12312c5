/** Where the states and arrows of a machine are drawn. The machine is the one that runs; dagre decides the places. */
import dagre from '@dagrejs/dagre';

/** What is read of an xstate machine. */
export interface MachineLike {
  readonly id: string;
  readonly root: {
    readonly states: Readonly<Record<string, StateNodeLike>>;
    readonly initial: { readonly target?: readonly { readonly key: string }[] | undefined };
    readonly on: TransitionsLike;
  };
}

export interface StateNodeLike {
  readonly key: string;
  readonly type: string;
  readonly description?: string | undefined;
  readonly on: TransitionsLike;
}

type TransitionsLike = Readonly<Record<string, readonly TransitionLike[] | undefined>>;

interface TransitionLike {
  readonly target?: readonly { readonly key: string }[] | undefined;
  readonly guard?: unknown;
}

export interface ChartNode {
  readonly state: string;
  readonly isFinal: boolean;
  readonly isInitial: boolean;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface ChartEdge {
  readonly from: string;
  readonly to: string;
  /** What brings it about, each with its guards. */
  readonly causes: readonly { readonly message: string; readonly guards: readonly string[] }[];
  readonly path: string;
  readonly label: { readonly x: number; readonly y: number };
}

export interface Chart {
  readonly id: string;
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly ChartNode[];
  readonly edges: readonly ChartEdge[];
}

const charWidth = 6.3;
const lineHeight = 12;
const margin = 14;

export function layOut(machine: MachineLike): Chart {
  const graph = new dagre.graphlib.Graph({ multigraph: false });
  graph.setGraph({ rankdir: 'LR', nodesep: 26, ranksep: 34, edgesep: 14, marginx: margin, marginy: margin });
  const states = Object.values(machine.root.states);
  for (const { key } of states) graph.setNode(key, { width: Math.max(92, key.length * 8 + 40), height: 38 });
  const edges = edgesOf(machine);
  for (const { from, to, causes } of edges) {
    const longest = Math.max(...causes.map(({ message }) => message.length));
    graph.setEdge(from, to, { width: longest * charWidth, height: causes.length * lineHeight, labelpos: 'c' });
  }
  dagre.layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    id: machine.id,
    width,
    height,
    nodes: states.map(({ key, type }) => ({
      state: key,
      isFinal: type === 'final',
      isInitial: machine.root.initial.target?.some((target) => target.key === key) ?? false,
      ...(graph.node(key) as { x: number; y: number; width: number; height: number }),
    })),
    edges: edges.map((edge) => {
      const { points, x, y } = graph.edge(edge.from, edge.to) as { points: Point[]; x: number; y: number };
      return { ...edge, path: smooth(points), label: { x, y } };
    }),
  };
}

interface Point {
  readonly x: number;
  readonly y: number;
}

type Edge = Pick<ChartEdge, 'from' | 'to' | 'causes'>;

/** One arrow for each pair of states; what only changes the context is not drawn. */
function edgesOf(machine: MachineLike): readonly Edge[] {
  const edges = new Map<string, { from: string; to: string; causes: Map<string, string[]> }>();
  for (const state of Object.values(machine.root.states)) {
    if (state.type === 'final') continue;
    for (const [message, transitions] of [...Object.entries(state.on), ...Object.entries(machine.root.on)]) {
      for (const { target, guard } of transitions ?? []) {
        const to = target?.[0]?.key;
        if (to === undefined || to === state.key) continue;
        const key = `${state.key}→${to}`;
        const edge = edges.get(key) ?? { from: state.key, to, causes: new Map<string, string[]>() };
        const guards = edge.causes.get(message) ?? [];
        if (guard !== undefined) guards.push(typeof guard === 'string' ? guard : 'guarded');
        edge.causes.set(message, guards);
        edges.set(key, edge);
      }
    }
  }
  return [...edges.values()].map(({ from, to, causes }) => ({
    from,
    to,
    causes: [...causes].map(([message, guards]) => ({ message, guards })),
  }));
}

/** A curve through the middles between the points, as dagre's own drawings have it. */
function smooth(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return '';
  let path = `M${first.x},${first.y}`;
  rest.forEach((point, index) => {
    const next = rest[index + 1];
    if (next === undefined) path += ` L${point.x},${point.y}`;
    else path += ` Q${point.x},${point.y} ${(point.x + next.x) / 2},${(point.y + next.y) / 2}`;
  });
  return path;
}
