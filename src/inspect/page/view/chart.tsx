/** A machine drawn as a state chart: the current state lit, the last transition running along its arrow. */
import type { ComponentChildren } from 'preact';
import type { Chart, ChartEdge, ChartNode } from './chart-layout.ts';

export interface ChartProps {
  readonly chart: Chart;
  readonly title: string;
  readonly current: string | null;
  /** The newest change, by its sequence number: a new number is a new run along the arrow. */
  readonly last: { readonly from: string; readonly to: string; readonly seq: number } | null;
  /** States that were passed through. */
  readonly visited: ReadonlySet<string>;
  /** Small text in a state: how many others are in it. */
  readonly badges?: ReadonlyMap<string, number>;
}

export function ChartView({ chart, title, current, last, visited, badges }: ChartProps) {
  return (
    <figure class="chart" data-chart={chart.id} data-state={current ?? ''}>
      <figcaption>{title}</figcaption>
      <svg
        viewBox={`0 0 ${chart.width} ${chart.height}`}
        width={chart.width}
        height={chart.height}
        role="img"
        aria-label={`${title}: ${current ?? 'no state'}`}
      >
        <defs>
          <marker
            id={`head-${chart.id}`}
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto-start-reverse"
          >
            <path class="arrow" d="M0,0 L8,4 L0,8 z" />
          </marker>
        </defs>
        {chart.edges.map((edge) => (
          <Edge
            key={`${edge.from}${edge.to}`}
            edge={edge}
            chart={chart.id}
            isLast={last !== null && last.from === edge.from && last.to === edge.to}
          />
        ))}
        {chart.nodes.map((node) => (
          <Node
            key={node.state}
            node={node}
            isCurrent={node.state === current}
            wasVisited={visited.has(node.state)}
            badge={badges?.get(node.state) ?? 0}
          />
        ))}
        <Token chart={chart} last={last} />
      </svg>
    </figure>
  );
}

function Edge({ edge, chart, isLast }: { readonly edge: ChartEdge; readonly chart: string; readonly isLast: boolean }) {
  const top = edge.label.y - ((edge.causes.length - 1) * 12) / 2 + 3;
  return (
    <g class={isLast ? 'edge last' : 'edge'}>
      <title>
        {edge.causes
          .map(({ message, guards }) => `${message}${guards.length === 0 ? '' : ` [${guards.join(' or ')}]`}`)
          .join('\n')}
      </title>
      <path d={edge.path} marker-end={`url(#head-${chart})`} />
      <text x={edge.label.x} y={top}>
        {edge.causes.map(({ message }, index) => (
          <tspan key={message} x={edge.label.x} dy={index === 0 ? 0 : 12}>
            {message}
          </tspan>
        ))}
      </text>
    </g>
  );
}

interface NodeProps {
  readonly node: ChartNode;
  readonly isCurrent: boolean;
  readonly wasVisited: boolean;
  readonly badge: number;
}

function Node({ node, isCurrent, wasVisited, badge }: NodeProps): ComponentChildren {
  const { state, x, y, width, height, isFinal, isInitial } = node;
  const left = x - width / 2;
  const top = y - height / 2;
  const classes = [
    'node',
    `state-${state}`,
    isCurrent ? 'current' : '',
    wasVisited ? 'visited' : '',
    isFinal ? 'final' : '',
  ];
  return (
    <g class={classes.join(' ')}>
      {isInitial ? <circle class="initial" cx={left - 8} cy={y} r="4" /> : null}
      {isFinal ? <rect class="rim" x={left - 3} y={top - 3} width={width + 6} height={height + 6} rx="11" /> : null}
      <rect x={left} y={top} width={width} height={height} rx="8" />
      <text x={x} y={y + 5}>
        {state}
      </text>
      {badge === 0 ? null : (
        <g class="badge">
          <circle cx={left + width} cy={top} r="9" />
          <text x={left + width} y={top + 4}>
            {badge}
          </text>
        </g>
      )}
    </g>
  );
}

function Token({ chart, last }: Pick<ChartProps, 'chart' | 'last'>): ComponentChildren {
  const edge = last === null ? undefined : chart.edges.find(({ from, to }) => from === last.from && to === last.to);
  if (edge === undefined || last === null) return null;
  return <circle key={last.seq} class="token" r="5" style={{ offsetPath: `path("${edge.path}")` }} />;
}
