/** Faults for a running cluster: rules added and removed, and what happens to the cluster as a whole. */
import type { Clock } from '../../clock.ts';
import { sleep } from '../../clock.ts';
import { PodwrightError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { NodeControl } from '../node-control.ts';
import type { Random } from '../random.ts';
import type { RuleBook } from './rule-book.ts';
import { type ClusterFault, type Fault, type FaultRule, faultMessage, scopeOf } from './rules.ts';

export interface FaultControl {
  /** The rules that may still apply. */
  readonly rules: readonly FaultRule[];
  /** Gives the name by which it is removed. */
  add(rule: FaultRule): string;
  /** False when there is none of that name. */
  remove(name: string): boolean;
  clear(): void;
  /** Now, once. Resolves when it is over: the server is up again, the kubelet is back. */
  strike(fault: ClusterFault): Promise<void>;
}

/** What faults do to the cluster. */
export interface FaultTargets {
  readonly node: NodeControl;
  readonly podUids: () => readonly string[];
  readonly containersOf: (podUid: string) => readonly string[];
  compact(): void;
  dropConnections(): void;
  stopApiServer(): void;
  startApiServer(): void;
  removeImages(): void;
  skewNodeClock(ms: number): void;
}

export interface FaultControlOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly rules: RuleBook;
  readonly targets: FaultTargets;
}

const downMs = 2_000;

export class Faults implements FaultControl {
  readonly #options: FaultControlOptions;
  readonly #scheduled = new Map<string, { readonly rule: FaultRule; cancel: () => void }>();
  #names = 0;
  /** One thing happens to the cluster at a time. */
  #turn: Promise<void> = Promise.resolve();
  /** How often all faults were taken away: what was due before and had to wait for its turn does not come then. */
  #clears = 0;

  constructor(options: FaultControlOptions) {
    this.#options = options;
  }

  get rules(): readonly FaultRule[] {
    const scheduled = [...this.#scheduled].map(([name, { rule }]) => ({ ...rule, name }));
    return [...this.#options.rules.rules, ...scheduled];
  }

  add(rule: FaultRule): string {
    if (!isClusterFault(rule.fault)) return this.#options.rules.add(rule);
    this.#names += 1;
    const name = rule.name ?? `strike-${this.#names}`;
    this.remove(name);
    this.#schedule(
      name,
      rule,
      rule.fault,
      rule.times ?? (rule.everyMs === undefined ? 1 : Number.POSITIVE_INFINITY),
      rule.afterMs ?? rule.everyMs ?? 0,
    );
    return name;
  }

  remove(name: string): boolean {
    const scheduled = this.#scheduled.get(name);
    scheduled?.cancel();
    this.#scheduled.delete(name);
    return this.#options.rules.remove(name) || scheduled !== undefined;
  }

  clear(): void {
    for (const name of [...this.#scheduled.keys()]) this.remove(name);
    this.#options.rules.clear();
    this.#clears += 1;
  }

  strike(fault: ClusterFault): Promise<void> {
    if (!isClusterFault(fault)) return Promise.reject(noStrike(fault));
    return this.#inTurn(fault, () => this.#strike(fault));
  }

  #inTurn(fault: ClusterFault, strike: () => Promise<void> | undefined): Promise<void> {
    const struck = this.#turn.then(strike);
    this.#turn = struck.catch((error: unknown) => {
      this.#options.logger.info('a fault could not be played', { fault: fault.kind, error });
    });
    return struck;
  }

  #schedule(
    name: string,
    rule: FaultRule,
    fault: ClusterFault,
    left: number,
    delay: NonNullable<FaultRule['afterMs']>,
  ): void {
    const { clock, random } = this.#options;
    const timer = clock.schedule(random.duration(delay), () => {
      this.#scheduled.delete(name);
      const clears = this.#clears;
      const strike = (): Promise<void> | undefined => (clears === this.#clears ? this.#strike(fault) : undefined);
      if (rule.rate === undefined || random.chance(rule.rate)) this.#inTurn(fault, strike).catch(() => undefined);
      if (left > 1 && rule.everyMs !== undefined) this.#schedule(name, rule, fault, left - 1, rule.everyMs);
    });
    this.#scheduled.set(name, { rule, cancel: () => timer.cancel() });
  }

  async #strike(fault: ClusterFault): Promise<void> {
    const { targets, random, clock, logger } = this.#options;
    const { node } = targets;
    logger.debug(faultMessage, { fault: fault.kind });
    const pause = (span: NonNullable<FaultRule['afterMs']>): Promise<void> => sleep(clock, random.duration(span));
    switch (fault.kind) {
      case 'compact':
        return targets.compact();
      case 'dropConnections':
        return targets.dropConnections();
      case 'shutDownNode':
        return node.shutDown();
      case 'rebootNode':
        return node.reboot();
      case 'removeImages':
        return targets.removeImages();
      case 'skewNodeClock':
        return targets.skewNodeClock(fault.ms);
      case 'restartApiServer':
        targets.stopApiServer();
        await pause(fault.downMs ?? downMs);
        return targets.startApiServer();
      case 'restartKubelet':
      case 'silenceNode':
        await node.stopKubelet();
        await pause(fault.downMs ?? (fault.kind === 'silenceNode' ? 60_000 : downMs));
        return node.startKubelet();
      case 'evictPods':
        for (const uid of this.#some(fault.share)) node.evict(uid, lowOnMemory);
        return undefined;
      case 'killSandboxes':
        for (const uid of this.#some(fault.share)) node.killSandbox(uid);
        return undefined;
      case 'killContainers':
        for (const uid of targets.podUids()) {
          for (const name of targets.containersOf(uid)) {
            if (random.chance(fault.share ?? 1)) node.killContainer(uid, name);
          }
        }
        return undefined;
    }
  }

  #some(share = 1): readonly string[] {
    return this.#options.targets.podUids().filter(() => this.#options.random.chance(share));
  }
}

const lowOnMemory = 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Mi. ';

function noStrike({ kind }: Fault): PodwrightError {
  return new PodwrightError('ERR_PODWRIGHT_CONFIG', `the fault "${kind}" is none of the cluster as a whole`, {
    remedy: 'Add it as a rule: it strikes the requests, Events or pods that come.',
  });
}

function isClusterFault(fault: Fault): fault is ClusterFault {
  return scopeOf(fault) === 'cluster';
}
