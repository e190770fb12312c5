/** Skaffold's metadata message of both versions: what it has no word for is empty, not left out. */

export function v1Metadata(builds: number): Readonly<Record<string, unknown>> {
  return {
    build: { numberOfArtifacts: builds, builders: [], type: 'CLUSTER', additional: {} },
    deploy: { deployers: [], cluster: 'OTHER' },
    test: null,
    additional: {},
  };
}

export function v2Metadata(builds: readonly string[], epoch: string): Readonly<Record<string, unknown>> {
  return {
    build: {
      artifacts: builds.map((name) => ({ type: 'CUSTOM', name, context: '', dockerfile: '' })),
      type: 'CLUSTER',
      additional: {},
    },
    deploy: { deployers: [], cluster: 'OTHER' },
    test: null,
    runID: epoch,
    render: null,
    additional: {},
  };
}
