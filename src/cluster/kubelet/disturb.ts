/** Asked at these points of a pod's way: what goes wrong there by a fault; undefined when nothing does. */
export type DisturbPod = (
  at: 'rejectPod' | 'failSandbox',
) => { readonly reason?: string; readonly message?: string } | undefined;
