/** The lens routes. */
import * as z from 'zod';
import type { BodyOf, ResponseOf } from '../../../lib/api/routes.ts';
import { defined } from '../../../lib/base/defined.ts';
import { type LensName, lensName, lensNamePattern } from '../../../lib/engine/ids.ts';
import { labelsOf, validateLens } from '../../../lib/lens/validate-lens.ts';
import type { Lens, LensVersion } from '../../../lib/ports/lenses.ts';
import type { LensSummary } from '../../../lib/ports/versions.ts';
import { createLens, publishLens } from '../../../lib/service/definitions/publish-lens.ts';
import type { Published } from '../../../lib/service/definitions/publish-version.ts';
import { type OperationTable, type CommonTools, refuse } from '../operation.ts';
import {
  archiveVersioned,
  getVersioned,
  listVersioned,
  nameDiffers,
  publicationIn,
  publicationOf,
  summaryOf,
} from './versions.ts';

type HandledOperations = 'createLens' | 'listLenses' | 'getLens' | 'publishLens' | 'archiveLens';

const lensNameShape = z.string().regex(lensNamePattern).transform(lensName);

const lensesOf = ({ lenses: store, clock }: CommonTools['decider']['deps']) => ({
  resourceKind: 'lens' as const,
  store,
  name: lensNameShape,
  clock,
});

export const lensOperations: OperationTable<HandledOperations, CommonTools> = {
  async createLens({ decider: { deps } }, { scope, body }) {
    const audit = { resource: `lens/${body.name}` };
    const lens = lensFrom(body, body.name);
    const findings = validateLens(lens);
    if (findings.length > 0) return { ...refuse('lens_invalid', { errors: findings }), audit };
    const result = await createLens(deps, scope, lens);
    if (result.kind === 'exists') return { ...refuse('lens_exists'), audit };
    const headers = { location: `/v1/lenses/${body.name}` };
    return { status: 201, body: publishedLensOf(lens, result), headers, audit };
  },

  async publishLens({ decider: { deps } }, { scope, params: { name }, body }) {
    const audit = { resource: `lens/${name}` };
    if (body.name !== undefined && body.name !== name) return nameDiffers('lens', name);
    const lens = lensFrom(body, name);
    const findings = validateLens(lens);
    if (findings.length > 0) return { ...refuse('lens_invalid', { errors: findings }), audit };
    const result = await publishLens(deps, scope, lens);
    if (result.kind === 'not_found') return { ...refuse('lens_not_found'), audit };
    const headers = { location: `/v1/lenses/${name}?version=${result.version}` };
    return { status: 201, body: publishedLensOf(lens, result), headers, audit: publicationOf(audit, result) };
  },

  async getLens({ decider: { deps } }, request) {
    return getVersioned(lensesOf(deps), request, lensOf);
  },

  async listLenses({ decider: { deps } }, request) {
    return listVersioned(lensesOf(deps), 'listLenses', request, (summaries) => summaries.map(summaryOf));
  },

  async archiveLens({ decider: { deps } }, request) {
    return archiveVersioned(lensesOf(deps), request);
  },
};

const lensFrom = (body: BodyOf<'publishLens'>, name: LensName): Lens => ({ ...body, name });

const publishedLensOf = ({ name, template }: Lens, published: Published) => ({
  ...publicationIn(name, published),
  placeholders: labelsOf(template),
});

const lensOf = (summary: LensSummary, lens: LensVersion): ResponseOf<'getLens'>['body'] => {
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
