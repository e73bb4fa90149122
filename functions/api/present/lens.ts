/** Lenses as answers show them. */
import { defined } from '../../../lib/engine/defined.ts';
import type { ResponseOf } from '../../../lib/api/routes.ts';
import { labelsOf } from '../../../lib/lens/validate-lens.ts';
import type { Lens, LensVersion } from '../../../lib/ports/lenses.ts';
import type { LensSummary } from '../../../lib/ports/versions.ts';
import type { Published } from '../../../lib/service/definitions/publish-version.ts';
import { publicationIn, summaryOf } from './versions.ts';

export const publishedLensOf = ({ name, template }: Lens, published: Published) => ({
  ...publicationIn(name, published),
  placeholders: labelsOf(template),
});

export const lensOf = (summary: LensSummary, lens: LensVersion): ResponseOf<'getLens'>['body'] => {
  const { version, kind, template, description, input, output, model, params } = lens;
  return defined({
    ...summaryOf(summary),
    version,
    kind,
    template,
    placeholders: labelsOf(template),
    description,
    input: input === undefined ? undefined : { ...input },
    output: output === undefined ? undefined : { ...output },
    model,
    params,
  });
};
