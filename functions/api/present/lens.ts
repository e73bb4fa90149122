/** Lenses as answers show them. */
import type { AnswerOf } from '../../../lib/api/routes.ts';
import { type Instant, iso } from '../../../lib/engine/time.ts';
import { labelsOf } from '../../../lib/lens/judge-lens.ts';
import type { Lens, LensSummary, LensVersion } from '../../../lib/ports/lenses.ts';
import { times } from './times.ts';

export const lensSummaryOf = ({ name, latestVersion, createdAt, updatedAt, archivedAt }: LensSummary) => ({
  name,
  latestVersion,
  createdAt: iso(createdAt),
  updatedAt: iso(updatedAt),
  ...times({ archivedAt }),
});

export const keptOf = (
  { name, template }: Lens,
  { version, createdAt }: { readonly version: number; readonly createdAt: Instant },
) => ({ name, version, createdAt: iso(createdAt), placeholders: labelsOf(template) });

export const lensOf = (summary: LensSummary, lens: LensVersion): AnswerOf<'getLens'>['body'] => {
  const { version, kind, template, description, input, output, model, params } = lens;
  return {
    ...lensSummaryOf(summary),
    version,
    kind,
    template,
    placeholders: labelsOf(template),
    ...(description === undefined ? {} : { description }),
    ...(input === undefined ? {} : { input: { ...input } }),
    ...(output === undefined ? {} : { output: { ...output } }),
    ...(model === undefined ? {} : { model }),
    ...(params === undefined ? {} : { params }),
  };
};
