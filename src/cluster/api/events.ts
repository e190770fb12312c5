/** Events: one store, shown in the forms of core/v1 and of events.k8s.io/v1. */
import type { ApiObject, ObjectReference } from '../types.ts';
import type { SelectableFields } from './selectors.ts';
import { fieldError } from './status.ts';
import type { Strategy } from './strategy.ts';

interface CoreEvent extends ApiObject {
  involvedObject?: ObjectReference;
  reason?: string;
  type?: string;
  source?: { component?: string; host?: string };
  reportingComponent?: string;
}

const referenceFields = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'] as const;

/** Objects are read as they are stored, in the form of core/v1. */
function referenceSelectors(prefix: string): SelectableFields {
  const reader = (key: (typeof referenceFields)[number]) => (object: ApiObject) =>
    (object as CoreEvent).involvedObject?.[key] ?? '';
  return Object.fromEntries(referenceFields.map((key) => [`${prefix}.${key}`, reader(key)]));
}

const text = (field: string) => (object: ApiObject) => String(object[field] ?? '');

export const eventFields: SelectableFields = {
  ...referenceSelectors('involvedObject'),
  reason: text('reason'),
  type: text('type'),
  reportingComponent: text('reportingComponent'),
  source: (object) => (object as CoreEvent).source?.component || text('reportingComponent')(object),
};

export const groupedEventFields: SelectableFields = {
  ...referenceSelectors('regarding'),
  reason: text('reason'),
  type: text('type'),
  reportingController: text('reportingComponent'),
};

export const eventStrategy: Strategy = {
  validateCreate(object) {
    const event = (object.apiVersion === 'v1' ? object : toCoreEvent(object)) as CoreEvent;
    const about = event.involvedObject?.namespace ?? '';
    const own = event.metadata.namespace ?? '';
    if (about === own || (about === '' && own === 'default')) return [];
    return [fieldError.invalid('involvedObject.namespace', about, 'does not match event.namespace')];
  },
};

const renamed: readonly (readonly [core: string, grouped: string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
];

export function toGroupedEvent(event: ApiObject): ApiObject {
  return convert(event, 'events.k8s.io/v1', new Map(renamed));
}

export function toCoreEvent(event: ApiObject): ApiObject {
  return convert(event, 'v1', new Map(renamed.map(([core, grouped]) => [grouped, core])));
}

function convert(event: ApiObject, apiVersion: string, names: ReadonlyMap<string, string>): ApiObject {
  const entries = Object.entries(event).map(([key, value]) => [names.get(key) ?? key, value]);
  return { ...(Object.fromEntries(entries) as ApiObject), apiVersion };
}
