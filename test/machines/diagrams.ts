/** The pictures of the machines, and where they are kept. */
import { buildMachine } from '../../machines/build.ts';
import { containerMachine } from '../../machines/container.ts';
import { podMachine } from '../../machines/pod.ts';
import { drawMachine } from './draw.ts';

export interface Diagram {
  readonly name: string;
  readonly file: URL;
  readonly svg: string;
}

export function diagrams(): readonly Diagram[] {
  return [containerMachine, podMachine, buildMachine].map((machine) => ({
    name: machine.id,
    file: new URL(`../../docs/images/${machine.id}-machine.svg`, import.meta.url),
    svg: drawMachine(machine),
  }));
}
