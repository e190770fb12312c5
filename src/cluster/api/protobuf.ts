/**
 * Bodies in Kubernetes' protobuf form, as kubectl sends them for small built-in kinds: decoded to what their JSON would
 * be. Kinds that are not in the table are refused, as an unknown media type is.
 */
import { assert } from '../../assert.ts';
import type { JsonObject } from '../json.ts';
import { coreMessages } from './protobuf-core.ts';
import { badRequest, unsupportedMediaType } from './status.ts';

export const protobufType = 'application/vnd.kubernetes.protobuf';

type Field =
  | readonly [name: string, kind: (typeof plainKinds)[number]]
  /** `int!` and `bool!` keep zero values, which Go writes for all that are no pointers. */
  | readonly [name: string, kind: 'int' | 'int!' | 'bool' | 'bool!']
  | readonly [name: string, kind: 'message' | 'messages' | 'inline', message: Message];

const plainKinds = [
  'string',
  'bytes',
  'time',
  'microTime',
  'intOrString',
  'quantity',
  'strings',
  'ints',
  'textMap',
  'bytesMap',
  'quantityMap',
] as const;

type Message = Readonly<Record<number, Field>>;

const ownerReference: Message = {
  1: ['kind', 'string'],
  3: ['name', 'string'],
  4: ['uid', 'string'],
  5: ['apiVersion', 'string'],
  6: ['controller', 'bool!'],
  7: ['blockOwnerDeletion', 'bool!'],
};

const objectMeta: Message = {
  1: ['name', 'string'],
  2: ['generateName', 'string'],
  3: ['namespace', 'string'],
  5: ['uid', 'string'],
  6: ['resourceVersion', 'string'],
  7: ['generation', 'int!'],
  8: ['creationTimestamp', 'time'],
  9: ['deletionTimestamp', 'time'],
  10: ['deletionGracePeriodSeconds', 'int!'],
  11: ['labels', 'textMap'],
  12: ['annotations', 'textMap'],
  13: ['ownerReferences', 'messages', ownerReference],
  14: ['finalizers', 'strings'],
};

const metadata: Field = ['metadata', 'message', objectMeta];

const deleteOptions: Message = {
  1: ['gracePeriodSeconds', 'int!'],
  2: ['preconditions', 'message', { 1: ['uid', 'string'], 2: ['resourceVersion', 'string'] }],
  3: ['orphanDependents', 'bool!'],
  4: ['propagationPolicy', 'string'],
  5: ['dryRun', 'strings'],
};

const policyRule: Message = {
  1: ['verbs', 'strings'],
  2: ['apiGroups', 'strings'],
  3: ['resources', 'strings'],
  4: ['resourceNames', 'strings'],
  5: ['nonResourceURLs', 'strings'],
};

const subject: Message = {
  1: ['kind', 'string'],
  2: ['apiGroup', 'string'],
  3: ['name', 'string'],
  4: ['namespace', 'string'],
};

const roleReference: Message = { 1: ['apiGroup', 'string'], 2: ['kind', 'string'], 3: ['name', 'string'] };

const role: Message = { 1: metadata, 2: ['rules', 'messages', policyRule] };

const roleBinding: Message = {
  1: metadata,
  2: ['subjects', 'messages', subject],
  3: ['roleRef', 'message', roleReference],
};

const review: Message = {
  1: metadata,
  2: [
    'spec',
    'message',
    {
      1: [
        'resourceAttributes',
        'message',
        {
          1: ['namespace', 'string'],
          2: ['verb', 'string'],
          3: ['group', 'string'],
          4: ['version', 'string'],
          5: ['resource', 'string'],
          6: ['subresource', 'string'],
          7: ['name', 'string'],
        },
      ],
      2: ['nonResourceAttributes', 'message', { 1: ['path', 'string'], 2: ['verb', 'string'] }],
    },
  ],
};

const labelSelector: Message = {
  1: ['matchLabels', 'textMap'],
  2: ['matchExpressions', 'messages', { 1: ['key', 'string'], 2: ['operator', 'string'], 3: ['values', 'strings'] }],
};

const coreForms = new Map<string, Message>();

/** A message of the table of core/v1, which is read when it is first asked for. */
function coreForm(name: string): Message {
  const known = coreForms.get(name);
  if (known !== undefined) return known;
  if (name === 'ObjectMeta') return objectMeta;
  if (name === 'LabelSelector') return labelSelector;
  const text = coreMessages[name];
  assert(text !== undefined, `the message ${name} is in the table`);
  const form: Record<number, Field> = {};
  // Before its fields: a message may hold itself.
  coreForms.set(name, form);
  for (const field of text.split(', ')) {
    const [number = '', label = '', kind = ''] = field.split(' ');
    form[Number(number)] = label.startsWith('~') ? ['', 'inline', coreForm(label.slice(1))] : coreField(label, kind);
  }
  return form;
}

function coreField(name: string, kind: string): Field {
  if (kind === 'string!') return [name, 'string'];
  if (kind === 'int' || kind === 'int!' || kind === 'bool' || kind === 'bool!') return [name, kind];
  const plain = plainKinds.find((one) => one === kind);
  if (plain !== undefined) return [name, plain];
  return kind.startsWith('[]') ? [name, 'messages', coreForm(kind.slice(2))] : [name, 'message', coreForm(kind)];
}

const kinds: Readonly<Record<string, Message>> = {
  ConfigMap: { 1: metadata, 2: ['data', 'textMap'], 3: ['binaryData', 'bytesMap'], 4: ['immutable', 'bool!'] },
  Secret: {
    1: metadata,
    2: ['data', 'bytesMap'],
    3: ['type', 'string'],
    4: ['stringData', 'textMap'],
    5: ['immutable', 'bool!'],
  },
  Namespace: { 1: metadata, 2: ['spec', 'message', { 1: ['finalizers', 'strings'] }] },
  ServiceAccount: { 1: metadata, 4: ['automountServiceAccountToken', 'bool!'] },
  Role: role,
  ClusterRole: role,
  RoleBinding: roleBinding,
  ClusterRoleBinding: roleBinding,
  DeleteOptions: deleteOptions,
  Eviction: { 1: metadata, 2: ['deleteOptions', 'message', deleteOptions] },
  SelfSubjectAccessReview: review,
  SelfSubjectRulesReview: { 1: metadata, 2: ['spec', 'message', { 1: ['namespace', 'string'] }] },
  SelfSubjectReview: { 1: metadata },
  PodDisruptionBudget: {
    1: metadata,
    2: [
      'spec',
      'message',
      {
        1: ['minAvailable', 'intOrString'],
        2: ['selector', 'message', labelSelector],
        3: ['maxUnavailable', 'intOrString'],
      },
    ],
  },
};

const coreKinds = ['Pod', 'Event', 'Binding'];

/** `k8s` and a zero byte stand before the envelope. */
const magic = [0x6b, 0x38, 0x73, 0x00];

const envelope: Message = {
  1: ['type', 'message', { 1: ['apiVersion', 'string'], 2: ['kind', 'string'] }],
  2: ['raw', 'bytes'],
};

/** Throws 400 for what is no such body, 415 for a kind that is not in the table. */
export function decodeProtobuf(body: Uint8Array, accepted: readonly string[]): JsonObject {
  if (!magic.every((byte, at) => body[at] === byte))
    throw badRequest('provided data does not appear to be a protobuf message');
  try {
    const outer = readMessage(body.subarray(magic.length), envelope) as {
      type?: { apiVersion?: string; kind?: string };
      raw?: string;
    };
    const { apiVersion = '', kind = '' } = outer.type ?? {};
    const form = kinds[kind] ?? (coreKinds.includes(kind) && apiVersion === 'v1' ? coreForm(kind) : undefined);
    if (form === undefined) throw unsupportedMediaType(accepted);
    return { kind, apiVersion, ...readMessage(Buffer.from(outer.raw ?? '', 'base64'), form) };
  } catch (error) {
    if (error instanceof RangeError) throw badRequest(`the protobuf body is cut off or malformed: ${error.message}`);
    throw error;
  }
}

function readMessage(bytes: Uint8Array, form: Message): JsonObject {
  const reader = new Reader(bytes);
  const result: JsonObject = {};
  while (!reader.atEnd) {
    const tag = reader.varint();
    const field = form[Math.floor(tag / 8)];
    const wire = tag % 8;
    if (field === undefined) reader.skip(wire);
    else if (wire === 0) setNumber(result, field, reader.varint());
    else if (wire === 2) setField(result, field, reader.bytes());
    else throw new RangeError(`wire type ${wire} of field ${field[0]}`);
  }
  return result;
}

function setNumber(result: JsonObject, [name, kind]: Field, value: number): void {
  if (kind === 'bool' || kind === 'bool!') {
    if (value !== 0 || kind === 'bool!') result[name] = value !== 0;
  } else if (kind === 'ints') {
    result[name] = [...(Array.isArray(result[name]) ? result[name] : []), value];
  } else if (kind === 'int' || kind === 'int!') {
    if (value !== 0 || kind === 'int!') result[name] = value;
  } else throw new RangeError(`field ${name} is a number`);
}

function setField(result: JsonObject, field: Field, bytes: Uint8Array): void {
  const [name, kind] = field;
  const text = (): string => Buffer.from(bytes).toString();
  const list = (): JsonObject[string][] => (Array.isArray(result[name]) ? result[name] : []);
  switch (kind) {
    case 'string':
      // Go writes empty strings too; in JSON they would not be there.
      if (bytes.length > 0) result[name] = text();
      return;
    case 'bytes':
      result[name] = Buffer.from(bytes).toString('base64');
      return;
    case 'strings':
      result[name] = [...list(), text()];
      return;
    case 'time':
      if (bytes.length > 0) result[name] = readTime(bytes);
      return;
    case 'microTime':
      if (bytes.length > 0) result[name] = readTime(bytes, 6);
      return;
    case 'intOrString':
      result[name] = readIntOrString(bytes);
      return;
    case 'quantity':
      result[name] = readQuantity(bytes);
      return;
    case 'ints':
      throw new RangeError(`field ${name} is packed`);
    case 'textMap':
    case 'bytesMap':
    case 'quantityMap': {
      const entry = readMessage(bytes, { 1: ['key', 'string'], 2: ['value', valueKinds[kind]] });
      const map = (result[name] ?? {}) as JsonObject;
      result[name] = { ...map, [String(entry['key'] ?? '')]: entry['value'] ?? '' };
      return;
    }
    case 'message':
      result[name] = readMessage(bytes, field[2]);
      return;
    case 'messages':
      result[name] = [...list(), readMessage(bytes, field[2])];
      return;
    case 'inline':
      Object.assign(result, readMessage(bytes, field[2]));
      return;
    case 'int':
    case 'int!':
    case 'bool':
    case 'bool!':
      throw new RangeError(`field ${name} is no number`);
  }
}

const valueKinds = { textMap: 'string', bytesMap: 'bytes', quantityMap: 'quantity' } as const;

function readQuantity(bytes: Uint8Array): string {
  return String(readMessage(bytes, { 1: ['text', 'string'] })['text'] ?? '0');
}

function readTime(bytes: Uint8Array, digits = 0): string {
  const read = readMessage(bytes, { 1: ['seconds', 'int'], 2: ['nanos', 'int'] });
  const whole = new Date(Number(read['seconds'] ?? 0) * 1000).toISOString().slice(0, 19);
  const fraction = String(read['nanos'] ?? 0)
    .padStart(9, '0')
    .slice(0, digits);
  return `${whole}${digits === 0 ? '' : `.${fraction}`}Z`;
}

function readIntOrString(bytes: Uint8Array): number | string {
  const read = readMessage(bytes, { 1: ['type', 'int'], 2: ['number', 'int'], 3: ['text', 'string'] });
  return read['type'] === 1 ? String(read['text'] ?? '') : Number(read['number'] ?? 0);
}

class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get atEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  varint(): number {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw new RangeError('a number is cut off');
      this.#at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number(BigInt.asIntN(64, value));
    }
    throw new RangeError('a number is too long');
  }

  bytes(): Uint8Array {
    const length = this.varint();
    const end = this.#at + length;
    if (length < 0 || end > this.#bytes.length) throw new RangeError('a field is cut off');
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  skip(wire: number): void {
    if (wire === 0) this.varint();
    else if (wire === 1) this.#at += 8;
    else if (wire === 2) this.bytes();
    else if (wire === 5) this.#at += 4;
    else throw new RangeError(`wire type ${wire}`);
  }
}
