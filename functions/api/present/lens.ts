/** Lenses as answers show them. */
import type { AnswerOf } from '../../../lib/api/routes.ts';
import { labelsOf } from '../../../lib/lens/judge-lens.ts';
import type { Lens, LensVersion } from '../../../lib/ports/lenses.ts';
import type { LensSummary } from '../../../lib/ports/versions.ts';
import type { Published } from '../../../lib/service/publish-version.ts';
import { publicationIn, summaryOf } from './versions.ts';

export const keptOf = ({ name, template }: Lens, published: Published) => ({
  ...publicationIn(name, published),
  placeholders: labelsOf(template),
});

export const lensOf = (summary: LensSummary, lens: LensVersion): AnswerOf<'getLens'>['body'] => {
  const { version, kind, template, description, input, output, model, params } = lens;
  return {
    ...summaryOf(summary),
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
