/**
 * Which class of trouble a failed pull is, from the kubelet's reason and the runtime's words.
 *
 * The reason decides where it is unambiguous; otherwise the first pattern that fits. The texts are those of containerd
 * 1.6 and 2.2 (recordings in test/traces), CRI-O and Docker; they are not an API and change, so that an unknown one is
 * the class `unknown`, never an error. Names of images, hosts and files are taken out before: they may hold any word.
 */
import type { PullFailureClass } from '../../machines/outcome.ts';

/** Classes that trying again cannot heal without a change of image, rights or rules. */
const permanentClasses: ReadonlySet<PullFailureClass> = new Set([
  'notFound',
  'unauthorized',
  'denied',
  'neverPolicy',
  'invalidName',
  'signature',
  'platformMismatch',
]);

export function isPermanent(failureClass: PullFailureClass): boolean {
  return permanentClasses.has(failureClass);
}

/** `images` are the references that the words may name. */
export function classifyPullFailure(reason: string, words: string | null, images: readonly string[]): PullFailureClass {
  const byReason = classOfReason[reason];
  if (byReason !== undefined) return byReason;
  if (words === null) return 'unknown';
  const text = withoutNames(words, images);
  return patterns.find(([, pattern]) => pattern.test(text))?.[0] ?? 'unknown';
}

/** kubelet: pkg/kubelet/images/types.go. The other reasons (ErrImagePull, ImagePullBackOff, …) say nothing of the class. */
const classOfReason: Readonly<Record<string, PullFailureClass>> = {
  ErrImageNeverPull: 'neverPolicy',
  InvalidImageName: 'invalidName',
  SignatureValidationFailed: 'signature',
};

/** In this order: a text often holds several of them, and the more telling one stands first here. */
const patterns: readonly (readonly [PullFailureClass, RegExp])[] = [
  ['neverPolicy', /is not present with pull policy of Never/i],
  ['invalidName', /couldn't parse image|invalid reference format|must be lowercase|InvalidImageName/i],
  [
    'signature',
    /signature (was required|validation)|SignatureValidationFailed|image rejected|rejected by policy|trust data/i,
  ],
  [
    'platformMismatch',
    /no match for platform|no matching manifest for|no image found in (manifest list|image index)|does not match the (specified|expected) platform/i,
  ],
  ['diskFull', /no space left on device|disk quota exceeded|not enough (disk )?space/i],
  ['rateLimited', /\b429\b|too ?many ?requests|rate.?limit|pull QPS exceeded/i],
  ['registryError', /\b5\d\d\b (Internal|Not Implemented|Bad|Service|Gateway|status)/i],
  ['registryError', /(status( code)?|HTTP code)\b[^:]*:? ?5\d\d\b|internal server error|bad gateway/i],
  ['denied', /requested access to the resource is denied|insufficient_scope/i],
  [
    'unauthorized',
    /\b401\b|no basic auth credentials|unauthorized:|authentication (is )?required|(incorrect|invalid) username|failed to authorize/i,
  ],
  ['denied', /\b403\b|denied|forbidden|authorization failed|is not authorized|may require authorization/i],
  ['hostUnknown', /no such host|name resolution|server misbehaving|name or service not known/i],
  [
    'timeout',
    /i\/o timeout|deadline exceeded|handshake timeout|timed out|Client\.Timeout|request canceled|context canceled|no progress/i,
  ],
  [
    'registryUnavailable',
    /connection refused|connection reset|no route to host|network is unreachable|host is unreachable|\bEOF\b|broken pipe|RegistryUnavailable|registry is unavailable|HTTP response to HTTPS client|x509:|tls:/i,
  ],
  ['notFound', /not found|manifest unknown|name unknown|\b404\b|does not exist|no such image/i],
];

/** containerd says "repository does not exist" with a 401 too: those texts are met by an earlier pattern. */
function withoutNames(words: string, images: readonly string[]): string {
  let text = words;
  for (const image of images) if (image !== '') text = text.replaceAll(image, 'IMAGE');
  return text
    .replace(/\b(https?|docker):\/\/[^\s"]*?(?=[:,]?(\s|"|$))/g, 'URL')
    .replace(/"(?:[^"\\]|\\.)*"/g, '"…"')
    .replace(/\[(manifests|blobs) [^\]]*\]/g, '[…]')
    .replace(/(?<![\w/])(?!i\/o\b)[\w.-]+(?::\d+)?(?:\/[\w.-]+)+(?::\w[\w.-]*)?(?:@sha256:[0-9a-f]+)?/g, 'NAME')
    .replace(/\blookup \S+( on \S+)?:/g, 'lookup HOST:')
    .replace(/\bsha256:[0-9a-f]+/g, 'DIGEST');
}
