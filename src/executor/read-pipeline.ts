/**
 * Reads a pipeline file: text in, a `Pipeline` out, or every mistake in it with its place and remedy.
 *
 * Nothing here touches a disk, a cluster or the environment.
 */
import { check } from './check.ts';
import { checkSchema } from './check-schema.ts';
import { readDocument } from './document.ts';
import { checkForeign } from './foreign.ts';
import { normalize } from './normalize.ts';
import type { Pipeline } from './pipeline.ts';
import { type Problem, pipelineInvalid, sortProblems } from './problems.ts';

export interface ReadResult {
  /** Undefined exactly when there are problems. */
  readonly pipeline?: Pipeline;
  readonly problems: readonly Problem[];
}

/** `file` is the name that messages show. */
export function readPipeline(text: string, file: string): ReadResult {
  const document = readDocument(text, file);
  if (!('value' in document)) return { problems: sortProblems(document) };
  const foreign = checkForeign(document);
  if (foreign !== undefined) return { problems: [foreign] };
  const pipeline = normalize(document);
  const problems = sortProblems([...checkSchema(document), ...check(pipeline, document)]);
  return problems.length === 0 ? { pipeline, problems } : { problems };
}

/** As `readPipeline`; throws `ERR_PODWRIGHT_PIPELINE_INVALID` with all problems. */
export function parsePipeline(text: string, file: string): Pipeline {
  const { pipeline, problems } = readPipeline(text, file);
  if (pipeline === undefined) throw pipelineInvalid(problems);
  return pipeline;
}
