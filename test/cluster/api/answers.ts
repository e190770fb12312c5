/** Answers to raw requests, in a form that two servers have in common. */
import type { RawRequest } from './requests.ts';

export interface Answer {
  readonly status: number;
  readonly type: string;
  /** Of a success only the kind counts: what objects look like is held elsewhere. */
  readonly body: unknown;
}

export function answerKey({ method, path, contentType = '', accept = '', body = '' }: RawRequest): string {
  return [method, path, contentType, accept && `accept ${accept}`, body].filter((part) => part !== '').join(' ');
}

export function normalized(raw: { status: number; type: string; text: string }, namespace: string): Answer {
  const text = raw.text
    .replaceAll(namespace, '$NS')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID')
    .replace(/current: \d+/g, 'current: N')
    .replace(/in record \(\d+\)/g, 'in record (N)')
    .replace(/too old resource version: 1 \(\d+\)/g, 'too old resource version: 1 (N)')
    .replace(/A_\w{5}/g, 'A_XXXXX')
    .replace(/kube-api-access-\w{5}/g, 'kube-api-access-X');
  return { status: raw.status, type: raw.type.split(';')[0] ?? '', body: parsed(text) };
}

function parsed(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  const { kind = '', type } = value as { kind?: string; type?: string };
  return kind === 'Status' || type === 'ERROR' ? value : { kind };
}
