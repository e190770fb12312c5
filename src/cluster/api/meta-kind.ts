/** The metadata that all kinds have in common. */
import { any, boolean, integer, list, map, object, string, time } from './schema.ts';

const ownerReference = object('OwnerReference', {
  apiVersion: string,
  kind: string,
  name: string,
  uid: string,
  controller: boolean,
  blockOwnerDeletion: boolean,
});

export const objectMeta = object('ObjectMeta', {
  name: string,
  generateName: string,
  namespace: string,
  selfLink: string,
  uid: string,
  resourceVersion: string,
  generation: integer,
  creationTimestamp: time,
  deletionTimestamp: time,
  deletionGracePeriodSeconds: integer,
  labels: map(string),
  annotations: map(string),
  ownerReferences: list(ownerReference, 'uid'),
  finalizers: list(string, 'set'),
  managedFields: list(any),
});

/** What every kind begins with. */
export const typed = { kind: string, apiVersion: string, metadata: objectMeta };
