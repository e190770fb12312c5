import { describe, expect, test } from 'vitest';
import { pullFailureClasses } from '../../machines/outcome.ts';
import { classifyPullFailure, isPermanent } from '../../src/pod/pull-failure.ts';

/** What registries and runtimes have said, each with where. `I` stands for the image. */
const texts: readonly (readonly [failureClass: string, source: string, text: string])[] = [
  [
    'notFound',
    'containerd 1.6',
    'rpc error: code = NotFound desc = failed to pull and unpack image "I": failed to resolve reference "I": I: not found',
  ],
  [
    'notFound',
    'containerd 2.2',
    'rpc error: code = NotFound desc = failed to pull and unpack image "I": failed to resolve image: I: not found',
  ],
  [
    'notFound',
    'CRI-O',
    'rpc error: code = Unknown desc = reading manifest 1 in registry.example/team/step: manifest unknown: manifest unknown',
  ],
  [
    'notFound',
    'CRI-O 1.30',
    'initializing source docker://registry.example/team/step:1: reading manifest 1 in registry.example/team/step: name unknown: repository not found',
  ],
  [
    'notFound',
    'Docker',
    'rpc error: code = Unknown desc = Error response from daemon: manifest for registry.example/team/step:1 not found: manifest unknown',
  ],
  [
    'unauthorized',
    'containerd 1.6',
    'failed to pull and unpack image "I": failed to resolve reference "I": pulling from host 127.0.0.1:5000 failed with status code [manifests 1]: 401 Unauthorized',
  ],
  [
    'unauthorized',
    'containerd 2.2',
    'failed to resolve image: pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials',
  ],
  [
    'unauthorized',
    'CRI-O',
    'unable to retrieve auth token: invalid username/password: unauthorized: incorrect username or password',
  ],
  [
    'unauthorized',
    'containerd, token server',
    'failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized',
  ],
  [
    'denied',
    'containerd 1.6',
    'failed to resolve reference "I": pulling from host 127.0.0.1:5000 failed with status code [manifests 1]: 403 Forbidden',
  ],
  [
    'denied',
    'containerd 2.2',
    'failed to resolve image: unexpected status from HEAD request to http://127.0.0.1:5000/v2/denied/step/manifests/1?ns=localhost%3A5000: 403 Forbidden',
  ],
  [
    'denied',
    'containerd, Docker Hub',
    'pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed',
  ],
  [
    'denied',
    'Docker, Docker Hub',
    "pull access denied for step, repository does not exist or may require 'docker login': denied: requested access to the resource is denied",
  ],
  [
    'denied',
    'CRI-O, Docker Hub',
    'Error reading manifest latest in docker.io/team/step: errors:\ndenied: requested access to the resource is denied\nunauthorized: authentication required',
  ],
  [
    'denied',
    'Artifact Registry',
    'denied: Permission "artifactregistry.repositories.downloadArtifacts" denied on resource',
  ],
  [
    'rateLimited',
    'containerd 1.6',
    'pulling from host 127.0.0.1:5000 failed with status code [manifests 1]: 429 Too Many Requests',
  ],
  [
    'rateLimited',
    'Docker Hub',
    'toomanyrequests: You have reached your pull rate limit. You may increase the limit by authenticating',
  ],
  ['rateLimited', 'kubelet', 'pull QPS exceeded'],
  ['registryError', 'containerd 1.6', 'failed with status code [manifests 1]: 500 Internal Server Error'],
  [
    'registryError',
    'containerd 2.2',
    'unexpected status from HEAD request to http://h/v2/s/manifests/1?ns=h: 503 Service Unavailable',
  ],
  ['registryError', 'gateway', 'unexpected status code [manifests 1]: 504 Gateway Timeout'],
  ['registryError', 'CRI-O', 'Error reading signatures: received unexpected HTTP status: 500 Internal Server Error'],
  [
    'registryUnavailable',
    'containerd',
    'failed to do request: Head "https://localhost:5999/v2/step/manifests/1": dial tcp 127.0.0.1:5999: connect: connection refused',
  ],
  [
    'registryUnavailable',
    'CRI-O',
    'Error determining manifest MIME type for docker://busybox:1: Get https://auth.docker.io/token?service=registry.docker.io: EOF',
  ],
  [
    'registryUnavailable',
    'containerd',
    'failed to do request: Head "https://h/v2/": http: server gave HTTP response to HTTPS client',
  ],
  [
    'registryUnavailable',
    'containerd',
    'failed to do request: Head "https://h/v2/": tls: failed to verify certificate: x509: certificate signed by unknown authority',
  ],
  ['registryUnavailable', 'network', 'dial tcp 10.0.0.1:443: connect: no route to host'],
  [
    'hostUnknown',
    'containerd',
    'failed to do request: Head "https://registry.invalid/v2/step/manifests/1": dial tcp: lookup registry.invalid on 192.0.2.53:53: no such host',
  ],
  [
    'hostUnknown',
    'CRI-O',
    'error pinging docker registry registry.example: Get "https://registry.example/v2/": dial tcp: lookup registry.example: Temporary failure in name resolution',
  ],
  [
    'timeout',
    'containerd',
    'failed to do request: Head "https://h/v2/step/manifests/1": dial tcp 10.0.0.1:443: i/o timeout',
  ],
  [
    'timeout',
    'DNS',
    'dial tcp: lookup registry.example on 10.96.0.10:53: read udp 10.0.0.2:41234->10.96.0.10:53: i/o timeout',
  ],
  ['timeout', 'CRI', 'rpc error: code = DeadlineExceeded desc = context deadline exceeded'],
  ['timeout', 'Go', 'net/http: TLS handshake timeout'],
  ['neverPolicy', 'kubelet', 'Container image "I" is not present with pull policy of Never'],
  [
    'invalidName',
    'kubelet',
    'Failed to apply default image tag "lab.local/UPPER:1": couldn\'t parse image name "lab.local/UPPER:1": invalid reference format: repository name (UPPER) must be lowercase',
  ],
  [
    'signature',
    'CRI-O',
    'copying system image from manifest list: Source image rejected: A signature was required, but no signature exists',
  ],
  [
    'platformMismatch',
    'containerd',
    'failed to pull and unpack image "I": no match for platform in manifest: not found',
  ],
  ['platformMismatch', 'Docker', 'no matching manifest for linux/arm64/v8 in the manifest list entries'],
  [
    'platformMismatch',
    'CRI-O',
    'choosing an image from manifest list docker://h/s:1: no image found in manifest list for architecture "arm64", variant "v8", OS "linux"',
  ],
  [
    'diskFull',
    'containerd',
    'failed to extract layer sha256:1a2b: write /var/lib/containerd/tmp: no space left on device: unknown',
  ],
  ['unknown', 'nobody', 'the flux capacitor is not charged'],
];

const image = 'registry.example/team/step:1';

describe('the class of a failed pull', () => {
  test.each(texts)('is %s in the words of %s: %s', (failureClass, _source, text) => {
    expect(classifyPullFailure('ErrImagePull', text.replace(/\bI\b/g, image), [image])).toBe(failureClass);
  });

  test('has at least one text for each class, so that none is dead', () => {
    expect(new Set(texts.map(([failureClass]) => failureClass))).toEqual(new Set(pullFailureClasses));
  });

  test.each([
    ['ErrImageNeverPull', 'neverPolicy'],
    ['InvalidImageName', 'invalidName'],
    ['SignatureValidationFailed', 'signature'],
    ['ErrImagePull', 'unknown'],
    ['ImagePullBackOff', 'unknown'],
    ['AReasonOfLater', 'unknown'],
  ])('follows from the reason %s without any words (P17)', (reason, failureClass) => {
    expect(classifyPullFailure(reason, null, [])).toBe(failureClass);
  });

  test.each([
    ['an image', 'registry.example/429/denied-not-found:503'],
    ['a short name that the runtime completes', 'denied/timeout'],
  ])('is not read from the name of %s', (_what, named) => {
    const text = `failed to pull and unpack image "docker.io/${named}": failed to resolve reference "docker.io/${named}": docker.io/${named}: the flux capacitor is not charged`;
    expect(classifyPullFailure('ErrImagePull', text, [named])).toBe('unknown');
  });

  test('is found behind the back-off text of Kubernetes 1.32 and later (P12)', () => {
    const text = `Back-off pulling image "${image}": ErrImagePull: unexpected status: 429 Too Many Requests`;
    expect(classifyPullFailure('ImagePullBackOff', text, [image])).toBe('rateLimited');
  });

  test('decides alone whether trying again can help', () => {
    const permanent = pullFailureClasses.filter(isPermanent);
    expect(permanent).toEqual([
      'notFound',
      'unauthorized',
      'denied',
      'neverPolicy',
      'invalidName',
      'signature',
      'platformMismatch',
    ]);
  });
});
