/**
 * Draws a flat machine as SVG, from nothing but the machine: states with their tags, transitions with their guards.
 *
 * Transitions between the same two states share an arrow; those that stay in their state are listed inside it, and
 * those that hold in every state below the picture.
 */
import dagre from '@dagrejs/dagre';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { toDirectedGraph } from 'xstate/graph';

const font = { size: 13, small: 11.5, width: 0.56, line: 17 };
const padding = 12;
const colours = {
  ink: '#1f2937',
  faint: '#6b7280',
  line: '#94a3b8',
  state: '#eff6ff',
  border: '#3b82f6',
  final: '#f1f5f9',
  finalBorder: '#475569',
};

interface Arrow {
  readonly source: string;
  readonly target: string;
  readonly labels: string[];
}

interface Box {
  readonly name: string;
  readonly tags: readonly string[];
  readonly isFinal: boolean;
  /** Transitions that stay here. */
  readonly inside: string[];
}

export function drawMachine(machine: AnyStateMachine): string {
  const graph = toDirectedGraph(machine);
  const boxes = new Map<string, Box>();
  const arrows = new Map<string, Arrow>();
  const everywhere: string[] = [];
  for (const { stateNode } of graph.children) boxes.set(stateNode.key, boxOf(stateNode));
  for (const { transition, target } of graph.edges) {
    if (target === graph.stateNode) everywhere.push(labelOf(transition));
    else addArrow(arrows, anyState, target.key, labelOf(transition));
  }
  if ([...arrows.values()].some(({ source }) => source === anyState)) {
    boxes.set(anyState, { name: anyState, tags: [], isFinal: false, inside: [] });
  }
  for (const { edges, stateNode } of graph.children) {
    for (const { transition, target } of edges) {
      if (target === stateNode) boxes.get(stateNode.key)?.inside.push(labelOf(transition));
      else addArrow(arrows, stateNode.key, target.key, labelOf(transition));
    }
  }
  return render(machine.id, initialOf(machine), [...boxes.values()], [...arrows.values()], everywhere);
}

/** Stands for a transition of the machine as a whole. */
const anyState = 'any state';

function boxOf({ key, tags, type }: AnyStateNode): Box {
  return { name: key, tags: [...tags], isFinal: type === 'final', inside: [] };
}

function labelOf({ eventType, guard }: { readonly eventType: string; readonly guard?: unknown }): string {
  const event = eventType.replace('xstate.done.actor.*', 'a container is settled');
  return typeof guard === 'string' ? `${event} [${guard}]` : event;
}

function addArrow(arrows: Map<string, Arrow>, source: string, target: string, label: string): void {
  const key = `${source} ${target}`;
  const arrow = arrows.get(key) ?? { source, target, labels: [] };
  arrow.labels.push(label);
  arrows.set(key, arrow);
}

function initialOf(machine: AnyStateMachine): string {
  return machine.root.initial.target?.[0]?.key ?? '';
}

function textWidth(text: string, size: number): number {
  return text.length * size * font.width;
}

function boxSize({ name, tags, inside }: Box): { readonly width: number; readonly height: number } {
  const widest = Math.max(
    textWidth(name, font.size + 1.5),
    textWidth(tags.map((tag) => `#${tag}`).join('  '), font.small),
    ...inside.map((label) => textWidth(label, font.small)),
  );
  const lines = 1 + (tags.length > 0 ? 1 : 0) + inside.length;
  return { width: widest + 2 * padding, height: lines * font.line + 2 * padding + (inside.length > 0 ? 8 : 0) };
}

type Point = { readonly x: number; readonly y: number };

function render(
  id: string,
  initial: string,
  boxes: readonly Box[],
  arrows: readonly Arrow[],
  everywhere: readonly string[],
): string {
  const layout = new dagre.graphlib.Graph({ multigraph: false });
  layout.setGraph({ rankdir: 'TB', nodesep: 30, ranksep: 44, edgesep: 18, marginx: 24, marginy: 24 });
  layout.setNode('initial', { width: 14, height: 14 });
  for (const box of boxes) layout.setNode(box.name, { ...boxSize(box) });
  layout.setEdge('initial', initial, { width: 1, height: 1 });
  for (const { source, target, labels } of arrows) {
    const width = Math.max(...labels.map((label) => textWidth(label, font.small))) + 10;
    layout.setEdge(source, target, { width, height: labels.length * (font.line - 2) + 6, labelpos: 'c' });
  }
  dagre.layout(layout);
  const { width = 0, height = 0 } = layout.graph();
  const notes = everywhere.length === 0 ? [] : ['In every state:', ...wrapped(everywhere, width - 48)];
  const total = height + (notes.length > 0 ? notes.length * font.line + 18 : 0);
  const edges = arrows.map(({ source, target, labels }) => arrowSvg(layout.edge(source, target) as EdgeLayout, labels));
  const start = arrowSvg(layout.edge('initial', initial) as EdgeLayout, []);
  const dot = layout.node('initial');
  const states = boxes.map((box) => boxSvg(box, layout.node(box.name)));
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${round(width)}" height="${round(total)}" viewBox="0 0 ${round(width)} ${round(total)}" role="img" aria-label="The states of a ${id} and the transitions between them" font-family="ui-sans-serif, system-ui, Helvetica, Arial, sans-serif" font-size="${font.size}">`,
    `<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="${colours.faint}"/></marker></defs>`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    `<circle cx="${round(dot.x)}" cy="${round(dot.y)}" r="6" fill="${colours.ink}"/>`,
    start.path,
    ...edges.map(({ path }) => path),
    ...states,
    ...edges.map(({ text }) => text),
    ...notes.map((note, index) =>
      line(24, height + 6 + index * font.line, note, index === 0 ? colours.ink : colours.faint),
    ),
    '</svg>',
  ].join('\n')}\n`;
}

interface EdgeLayout {
  readonly points: readonly Point[];
  readonly x?: number;
  readonly y?: number;
  readonly width?: number;
  readonly height?: number;
}

function arrowSvg(edge: EdgeLayout, labels: readonly string[]): { readonly path: string; readonly text: string } {
  const path = `<path d="${curve(edge.points)}" fill="none" stroke="${colours.line}" stroke-width="1.4" marker-end="url(#head)"/>`;
  if (labels.length === 0) return { path, text: '' };
  const { x = 0, y = 0, width = 0, height = 0 } = edge;
  const top = y - height / 2;
  const back = `<rect x="${round(x - width / 2)}" y="${round(top)}" width="${round(width)}" height="${round(height)}" rx="3" fill="#ffffff" fill-opacity="0.92"/>`;
  const lines = labels.map((label, index) => {
    const baseline = top + 12 + index * (font.line - 2);
    return `<text x="${round(x)}" y="${round(baseline)}" text-anchor="middle" font-size="${font.small}" fill="${colours.ink}">${labelSvg(label)}</text>`;
  });
  return { path, text: [back, ...lines].join('\n') };
}

/** The guard in a fainter colour than the message. */
function labelSvg(label: string): string {
  const [event = '', guard] = label.split(' [');
  return guard === undefined
    ? escaped(event)
    : `${escaped(event)} <tspan fill="${colours.faint}">[${escaped(guard)}</tspan>`;
}

/** Through the points, with round corners. */
function curve(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return '';
  const parts = [`M${round(first.x)} ${round(first.y)}`];
  for (const [index, point] of rest.entries()) {
    const next = rest[index + 1];
    if (next === undefined) parts.push(`L${round(point.x)} ${round(point.y)}`);
    else
      parts.push(
        `Q${round(point.x)} ${round(point.y)} ${round((point.x + next.x) / 2)} ${round((point.y + next.y) / 2)}`,
      );
  }
  return parts.join(' ');
}

function boxSvg(box: Box, place: Point & { readonly width: number; readonly height: number }): string {
  const { x, y, width, height } = place;
  const left = x - width / 2;
  const top = y - height / 2;
  const border = box.isFinal ? colours.finalBorder : colours.border;
  const fill = box.isFinal ? colours.final : colours.state;
  const parts = [
    `<rect x="${round(left)}" y="${round(top)}" width="${round(width)}" height="${round(height)}" rx="9" fill="${fill}" stroke="${border}" stroke-width="1.6"${box.name === anyState ? ' stroke-dasharray="5 4"' : ''}/>`,
  ];
  if (box.isFinal) {
    parts.push(
      `<rect x="${round(left + 3)}" y="${round(top + 3)}" width="${round(width - 6)}" height="${round(height - 6)}" rx="7" fill="none" stroke="${border}" stroke-width="1"/>`,
    );
  }
  let baseline = top + padding + 13;
  parts.push(
    `<text x="${round(x)}" y="${round(baseline)}" text-anchor="middle" font-size="${font.size + 1.5}" font-weight="600" fill="${colours.ink}">${box.name}</text>`,
  );
  if (box.tags.length > 0) {
    baseline += font.line;
    const tags = box.tags.map((tag) => `#${tag}`).join('  ');
    parts.push(
      `<text x="${round(x)}" y="${round(baseline)}" text-anchor="middle" font-size="${font.small}" fill="${colours.border}">${tags}</text>`,
    );
  }
  if (box.inside.length > 0) {
    parts.push(
      `<path d="M${round(left)} ${round(baseline + 8)}H${round(left + width)}" stroke="${border}" stroke-opacity="0.35"/>`,
    );
    baseline += 8;
  }
  for (const label of box.inside) {
    baseline += font.line;
    parts.push(
      `<text x="${round(left + padding)}" y="${round(baseline)}" font-size="${font.small}" fill="${colours.ink}">${labelSvg(label)}</text>`,
    );
  }
  return parts.join('\n');
}

/** Texts with bars between them, in lines that are no wider than this. */
function wrapped(texts: readonly string[], width: number): readonly string[] {
  const lines: string[] = [];
  for (const text of texts) {
    const last = lines.at(-1);
    const longer = last === undefined ? text : `${last}  ·  ${text}`;
    if (last === undefined || textWidth(longer, font.small) > width) lines.push(text);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

function line(x: number, y: number, text: string, colour: string): string {
  return `<text x="${x}" y="${round(y)}" font-size="${font.small}" fill="${colour}">${escaped(text)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
