/**
 * What differs between the Kubernetes versions the embedded cluster can stand for. Each field is one observable
 * difference; the rest of the cluster asks this table and never compares versions.
 */

export const profileNames = ['1.31', '1.34', '1.35', '1.36', '1.37'] as const;

export type ProfileName = (typeof profileNames)[number];

export interface Profile {
  readonly name: ProfileName;
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
  /** `metadata.generation` of pods rises with the spec (1.33). */
  readonly generation: boolean;
  /** `status.observedGeneration` and that of conditions are written (1.34). */
  readonly observedGeneration: boolean;
  /** Container-level `restartPolicy` and `restartPolicyRules` are kept; else dropped without a word (1.35). */
  readonly restartRules: boolean;
  /** `Created` and `Started` Events name no container (1.35). */
  readonly namelessEvents: boolean;
  /** A present image is also said to be accessible by the pod (1.35). */
  readonly pulledAccessText: boolean;
  /** `waiting.message` of a pull back-off carries the real error (1.32). */
  readonly backOffMessageDetail: boolean;
  /** The runtime's state is read again right after a sync that changed something (1.36). */
  readonly relistAfterSync: boolean;
  /** A sync that met a restart back-off is repeated when that ends, not after the usual 10 to 15 s (1.35). */
  readonly retriesAtBackOffEnd: boolean;
  /** `PodReadyToStartContainers` is written as soon as the sandbox is up, not with the next sync (1.36). */
  readonly sandboxReadyAtOnce: boolean;
  /** `PodReadyToStartContainers=False` has a reason and says in words what the sandbox lacks (1.37). */
  readonly sandboxNotReadyTold: boolean;
  /** `status.resources` and `allocatedResources` are written for pods and containers (pod level 1.36). */
  readonly podResources: boolean;
  /** The instance before the last is forgotten about a second after the last one ended (up to 1.34). */
  readonly forgetsLastState: boolean;
  /** The Event spam filter counts Normal and Warning apart (1.32). */
  readonly spamKeyHasType: boolean;
  /** Image and uid violations name the same cause twice (up to 1.36). */
  readonly doubledCauses: boolean;
  /** `sendInitialEvents` is served (on in 1.32, off in 1.33, on from 1.34). */
  readonly watchList: boolean;
  /** The scheduler's text ends with what became of resource claims (1.34 to 1.36). */
  readonly claimsText: boolean;
}

const v136: Profile = {
  name: '1.36',
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.3',
  generation: true,
  observedGeneration: true,
  restartRules: true,
  namelessEvents: true,
  pulledAccessText: true,
  backOffMessageDetail: true,
  relistAfterSync: true,
  retriesAtBackOffEnd: true,
  sandboxReadyAtOnce: true,
  sandboxNotReadyTold: false,
  podResources: true,
  forgetsLastState: false,
  spamKeyHasType: true,
  doubledCauses: true,
  watchList: true,
  claimsText: true,
};

const v135: Profile = {
  ...v136,
  name: '1.35',
  minor: '35',
  gitVersion: 'v1.35.6',
  relistAfterSync: false,
  sandboxReadyAtOnce: false,
  podResources: false,
};

const v134: Profile = {
  ...v135,
  name: '1.34',
  minor: '34',
  gitVersion: 'v1.34.4',
  restartRules: false,
  retriesAtBackOffEnd: false,
  namelessEvents: false,
  pulledAccessText: false,
  forgetsLastState: true,
};

const v131: Profile = {
  ...v134,
  name: '1.31',
  minor: '31',
  gitVersion: 'v1.31.14',
  generation: false,
  observedGeneration: false,
  backOffMessageDetail: false,
  spamKeyHasType: false,
  watchList: false,
  claimsText: false,
};

const v137: Profile = {
  ...v136,
  name: '1.37',
  minor: '37',
  gitVersion: 'v1.37.2',
  sandboxNotReadyTold: true,
  doubledCauses: false,
  claimsText: false,
};

export const profiles: Readonly<Record<ProfileName, Profile>> = {
  '1.31': v131,
  '1.34': v134,
  '1.35': v135,
  '1.36': v136,
  '1.37': v137,
};
