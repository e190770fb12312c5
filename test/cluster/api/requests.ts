/** Requests that a server refuses, or answers in a way of its own: each was put to a real one, too. */

export interface RawRequest {
  readonly method: string;
  /** `$NS` stands for a namespace with the running pod `p` and the ConfigMap `c`. */
  readonly path: string;
  readonly contentType?: string;
  readonly accept?: string;
  readonly body?: string;
}

const json = 'application/json';
const pods = '/api/v1/namespaces/$NS/pods';

export const requests: readonly RawRequest[] = [
  ...creates(),
  ...bodies(),
  ...patches(),
  ...methods(),
  ...deletes(),
  ...paths(),
  ...selectors(),
  ...listOptions(),
  ...logOptions(),
];

function creates(): RawRequest[] {
  const texts = [
    '"x"',
    '[]',
    ' ',
    '{',
    '{}',
    'null',
    '{"kind":"Pod"}',
    '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}',
    '{"apiVersion":"v1","kind":"Nothing"}',
    '{"apiVersion":"v2","kind":"Pod"}',
    '{"apiVersion":5,"kind":"Pod"}',
    pod('5'),
    pod('{"name":5}'),
    pod('{"name":"a","labels":{"a":5}}'),
    pod('{"name":"a","labels":["a"]}'),
    pod('{"creationTimestamp":"yesterday"}'),
    pod('{"name":"a","resourceVersion":"5"}', '{"containers":[{"name":"a","image":"b"}]}'),
    pod('{"name":"a","namespace":"elsewhere"}', '{"containers":[{"name":"a","image":"b"}]}'),
    pod('{"name":"p"}', '{"containers":[{"name":"a","image":"b"}]}'),
    pod('{"name":"a"}', '{}'),
    pod('{"name":"a"}', '{"containers":null}'),
    pod('{"name":"a"}', '{"containers":{}}'),
    pod('{"name":"a"}', '{"containers":[{"name":5}]}'),
    pod('{"name":"a"}', '{"containers":[5]}'),
    pod('{"name":"a"}', '{"hostNetwork":"yes"}'),
    pod('{"name":"a"}', '{"terminationGracePeriodSeconds":"x"}'),
    pod('{"name":"a"}', '{"activeDeadlineSeconds":1.5}'),
    pod('{"name":"A_B"}', '{"containers":[{"name":"a","image":"b"}]}'),
    ...['{"a/b/c":"x"}', '{"/d":"x"}', '{"e/":"x"}', '{"ok":"-x-"}'].map((labels) =>
      pod(`{"name":"a","labels":${labels}}`, '{"containers":[{"name":"a","image":"b"}]}'),
    ),
    pod('{"name":"a","annotations":{"bad key":"x"}}', '{"containers":[{"name":"a","image":"b"}]}'),
    pod('{"generateName":"A_"}', '{"containers":[{"name":"a","image":"b"}]}'),
    pod('{"name":"a"}', '{"containers":[{"name":"A","image":"b"},{"name":"a"},{"name":"a","image":"x"}]}'),
    pod('{"name":"a"}', '{"containers":[{"name":"a","image":"b","imagePullPolicy":"Sometimes"}]}'),
    pod('{"name":"a"}', '{"containers":[{"name":"a","image":"b","env":[{"name":""},{"name":"a=b"}]}]}'),
    pod('{"name":"a"}', '{"containers":[{"name":"a","image":"b","volumeMounts":[{"name":"v","mountPath":""}]}]}'),
    pod('{"name":"a"}', '{"restartPolicy":"Sometimes","containers":[{"name":"a","image":"b"}]}'),
    pod('{"name":"a"}', '{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"V"},{"name":"w"},{"name":"w"}]}'),
    pod('{"name":"a"}', '{"containers":[{"name":"a","image":"b"}],"activeDeadlineSeconds":0}'),
    pod('{"name":"a"}', '{"containers":[{"name":"a","image":"b"}],"terminationGracePeriodSeconds":-1}'),
    pod('{"name":"a"}', '{"containers":[{"name":"a","image":"b"}],"serviceAccountName":"nobody"}'),
  ];
  return texts.map((body) => ({ method: 'POST', path: pods, contentType: json, body }));
}

function pod(metadata: string, spec = '{}'): string {
  return `{"apiVersion":"v1","kind":"Pod","metadata":${metadata},"spec":${spec}}`;
}

function bodies(): RawRequest[] {
  const body = '{"apiVersion":"v1","kind":"Pod"}';
  const types = ['text/plain', 'application/x-www-form-urlencoded', `${json}; charset=utf-8`, 'nonsense'];
  const strict = pod('{"name":"a"}', '{"containers":[{"name":"a","image":"b"}],"color":"red"}');
  return [
    ...types.map((contentType) => ({ method: 'POST', path: pods, contentType, body })),
    { method: 'POST', path: `${pods}?fieldValidation=Strict&dryRun=All`, contentType: json, body: strict },
    { method: 'POST', path: `${pods}?fieldValidation=Maybe`, contentType: json, body: strict },
    { method: 'POST', path: `${pods}?dryRun=Some`, contentType: json, body: strict },
    { method: 'POST', path: '/api/v1/namespaces/nowhere/pods', contentType: json, body: strict },
    { method: 'POST', path: pods, contentType: json, accept: 'text/html', body },
    { method: 'GET', path: `${pods}/p`, accept: 'text/html' },
    { method: 'GET', path: `${pods}/p`, accept: 'application/xml' },
    { method: 'GET', path: `${pods}?watch=1&timeoutSeconds=1`, accept: 'text/html' },
  ];
}

function patches(): RawRequest[] {
  const patch = (contentType: string, texts: readonly string[], path = `${pods}/p`): RawRequest[] =>
    texts.map((body) => ({ method: 'PATCH', path, contentType, body }));
  const noObjects = ['"x"', '[]', '5', '{'];
  return [
    ...patch('application/strategic-merge-patch+json', [
      ...noObjects,
      '{"spec":{"containers":"none"}}',
      '{"spec":{"containers":[{"image":"x"}]}}',
      '{"metadata":{"labels":"x"}}',
      '{"metadata":{"labels":{"a":5}}}',
      '{"metadata":{"name":"other"}}',
      '{"metadata":{"uid":"other"}}',
      '{"metadata":{"resourceVersion":"1"}}',
      '{"spec":{"containers":[{"name":"p","image":""}]}}',
      '{"spec":{"containers":[{"name":"more","image":"x"}]}}',
      '{"spec":{"activeDeadlineSeconds":0}}',
    ]),
    ...patch('application/merge-patch+json', [...noObjects, 'null']),
    ...patch('application/json-patch+json', [
      '"x"',
      '5',
      '{',
      '{}',
      '[{"op":"jump","path":"/metadata"}]',
      '[{"op":"add"}]',
      '[{"op":"test","path":"/metadata/name","value":"z"}]',
      '[{"op":"remove","path":"/metadata/nope/x"}]',
    ]),
    ...patch('application/merge-patch+json', ['{}'], `${pods}/nothing`),
    ...patch(json, ['{}']),
    ...patch('text/plain', ['{}']),
  ];
}

function methods(): RawRequest[] {
  return [
    { method: 'PUT', path: pods, contentType: json, body: '{}' },
    { method: 'POST', path: `${pods}/p`, contentType: json, body: '{}' },
    { method: 'PATCH', path: pods, contentType: 'application/merge-patch+json', body: '{}' },
    { method: 'PUT', path: `${pods}/p`, contentType: json, body: '{}' },
    { method: 'PUT', path: `${pods}/nothing`, contentType: json, body: pod('{"name":"nothing"}') },
    { method: 'PUT', path: `${pods}/p`, contentType: json, body: pod('{"name":"other"}') },
    { method: 'POST', path: `${pods}/p/log`, contentType: json, body: '{}' },
    { method: 'GET', path: `${pods}/p/binding` },
    { method: 'GET', path: `${pods}/p/eviction` },
    { method: 'DELETE', path: `${pods}/p/log` },
    { method: 'POST', path: `${pods}/nothing/eviction`, contentType: json, body: eviction('nothing') },
    { method: 'POST', path: `${pods}/p/eviction`, contentType: json, body: eviction('other') },
    { method: 'POST', path: `${pods}/p/eviction`, contentType: json, body: '{}' },
    { method: 'POST', path: `${pods}/p/binding`, contentType: json, body: '{}' },
    { method: 'POST', path: '/api/v1/pods', contentType: json, body: pod('{"name":"a"}') },
    { method: 'DELETE', path: '/api/v1/pods' },
    { method: 'DELETE', path: '/api' },
    { method: 'OPTIONS', path: pods },
    { method: 'FOO', path: pods },
    { method: 'POST', path: '/version' },
    { method: 'POST', path: '/api/v1' },
  ];
}

function eviction(name: string): string {
  return `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"${name}"}}`;
}

function deletes(): RawRequest[] {
  const texts = [
    '"x"',
    '{',
    '{"gracePeriodSeconds":"x"}',
    '{"kind":"Pod","apiVersion":"v1"}',
    '{"preconditions":{"uid":"nope"}}',
    '{"preconditions":{"resourceVersion":"1"}}',
    '{"propagationPolicy":"Sideways"}',
    '{"dryRun":["Some"]}',
  ];
  return [
    ...texts.map((body) => ({ method: 'DELETE', path: `${pods}/p`, contentType: json, body })),
    { method: 'DELETE', path: `${pods}/p`, contentType: 'text/plain', body: '{}' },
    { method: 'DELETE', path: `${pods}/p?gracePeriodSeconds=x` },
    { method: 'DELETE', path: `${pods}/p?dryRun=Some` },
    { method: 'DELETE', path: `${pods}/nothing` },
    { method: 'DELETE', path: '/api/v1/namespaces/kube-system' },
    { method: 'DELETE', path: '/api/v1/namespaces/nowhere' },
  ];
}

function paths(): RawRequest[] {
  return [
    '/api/v1/namespaces/nowhere/pods/x',
    '/api/v1/namespaces/nowhere/pods',
    '/api/v1/namespaces/nowhere',
    `${pods}/nothing`,
    `${pods}/p/extra`,
    `${pods}/p/extra/more`,
    `${pods}/p/log/more`,
    `${pods}/A_B`,
    '/api/v1/nothing',
    '/api/v1/namespaces/$NS/nothing',
    '/api/v1/namespaces/$NS/nodes',
    '/api/v2',
    '/API/v1',
    '/apis/policy/v9',
    '/apis/nothing.example.com',
    '/apis/nothing.example.com/v1/things',
    '/nothing',
    '/metrics/none',
    '/healthz',
    '/livez',
    '/readyz',
    '/readyz/nothing',
    '/apis/events.k8s.io/v1/namespaces/$NS/events/nothing',
    '/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/roles/nothing',
    '/api/v1/nodes/nothing',
    '/api/v1/namespaces/$NS/secrets/nothing',
    '/api/v1/namespaces/$NS/configmaps/nothing',
    '/api/v1/namespaces/$NS/serviceaccounts/nothing',
  ].map((path) => ({ method: 'GET', path }));
}

function selectors(): RawRequest[] {
  const labels = [
    '=',
    'a b',
    '-a=b',
    'a=-b-',
    'a in',
    'a in (b',
    'a in ()',
    'a in (,)',
    ',a',
    'a,',
    'a,,b',
    'a/b/c',
    'a>b',
    '!a=b',
    'a=b=c',
    '(a)',
    'a notin b',
    'a !',
    'a==',
    'a!',
  ];
  const fields = [
    'x',
    'a=b',
    'metadata.name',
    'metadata.name=a=b',
    'metadata.name=',
    'status.phase!=Running,',
    'spec.nodeName>a',
  ];
  return [
    ...labels.map((text) => ({ method: 'GET', path: `${pods}?limit=1&labelSelector=${encodeURIComponent(text)}` })),
    ...fields.map((text) => ({ method: 'GET', path: `${pods}?limit=1&fieldSelector=${encodeURIComponent(text)}` })),
    { method: 'GET', path: `${pods}/p?fieldSelector=metadata.name%3Dq` },
    { method: 'GET', path: '/api/v1/namespaces/$NS/events?fieldSelector=color%3Dred' },
    { method: 'GET', path: '/apis/events.k8s.io/v1/namespaces/$NS/events?fieldSelector=color%3Dred' },
    { method: 'GET', path: '/api/v1/namespaces/$NS/secrets?fieldSelector=color%3Dred' },
    { method: 'GET', path: '/api/v1/nodes?fieldSelector=color%3Dred' },
  ];
}

function listOptions(): RawRequest[] {
  return [
    'limit=x',
    'timeoutSeconds=x',
    'resourceVersion=x',
    'resourceVersion=-1',
    'resourceVersion=99999999',
    'continue=x',
    'continue=eyJ9',
    'resourceVersionMatch=Exact',
    'resourceVersionMatch=Never&resourceVersion=1',
    'resourceVersionMatch=Exact&resourceVersion=0',
    'resourceVersionMatch=Exact&resourceVersion=1',
    'continue=x&resourceVersionMatch=Exact&resourceVersion=1',
    'continue=x&resourceVersion=5',
    'sendInitialEvents=true',
    'watch=1&sendInitialEvents=true',
    'watch=1&sendInitialEvents=false',
    'watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=1',
    'watch=1&resourceVersion=x',
    'watch=1&resourceVersion=1',
    'watch=1&continue=x',
    'watch=1&timeoutSeconds=x',
    'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99999999&timeoutSeconds=1',
  ]
    .map((query) => ({ method: 'GET', path: `${pods}?${query}` }))
    .concat({ method: 'GET', path: `${pods}/p?resourceVersion=x` });
}

function logOptions(): RawRequest[] {
  return [
    'tailLines=x',
    'tailLines=-1',
    'limitBytes=0',
    'sinceSeconds=0',
    'sinceTime=x',
    'sinceTime=2026-01-01T00:00:00Z&sinceSeconds=5',
    'container=zz',
    'previous=true',
    'previous=maybe',
  ]
    .map((query) => ({ method: 'GET', path: `${pods}/p/log?${query}` }))
    .concat({ method: 'GET', path: `${pods}/nothing/log` });
}
