/** The routes about lenses. */
import * as z from 'zod';
import type { BodyOf } from '../../../lib/api/routes.ts';
import { type LensName, lensName, lensNamePattern } from '../../../lib/engine/ids.ts';
import { judgeLens } from '../../../lib/lens/judge-lens.ts';
import type { Lens } from '../../../lib/ports/lenses.ts';
import { createLens, publishLens } from '../../../lib/service/publish-lens.ts';
import { type Operations, refuse } from '../operation.ts';
import { keptOf, lensOf } from '../present/lens.ts';
import { summaryOf } from '../present/versions.ts';
import type { Tools } from '../tools.ts';
import { archiveOne, getOne, listAll, nameDiffers, publicationOf } from './versions.ts';

type Own = 'createLens' | 'listLenses' | 'getLens' | 'publishLens' | 'archiveLens';

export const lensOperations = ({ decider: { deps } }: Tools): Pick<Operations<'library'>, Own> => {
  const shelf = () => ({ noun: 'lens' as const, store: deps.lenses, name: position, clock: deps.clock });
  return {
    createLens: async ({ scope, body }) => {
      const audit = { resource: `lens/${body.name}` };
      const lens = lensIn(body, body.name);
      const findings = judgeLens(lens);
      if (findings.length > 0) return { ...refuse('lens_invalid', { errors: findings }), audit };
      const result = await createLens(deps, scope, lens);
      if (result.kind === 'exists') return { ...refuse('lens_exists'), audit };
      const headers = { location: `/v1/lenses/${body.name}` };
      return { status: 201, body: keptOf(lens, result), headers, audit };
    },

    publishLens: async ({ scope, params: { name }, body }) => {
      const audit = { resource: `lens/${name}` };
      if (body.name !== undefined && body.name !== name) return nameDiffers('lens', name);
      const lens = lensIn(body, name);
      const findings = judgeLens(lens);
      if (findings.length > 0) return { ...refuse('lens_invalid', { errors: findings }), audit };
      const result = await publishLens(deps, scope, lens);
      if (result.kind === 'not_found') return { ...refuse('lens_not_found'), audit };
      const headers = { location: `/v1/lenses/${name}?version=${result.version}` };
      return { status: 201, body: keptOf(lens, result), headers, audit: publicationOf(audit, result) };
    },

    getLens: (request) => getOne(shelf(), request, lensOf),
    listLenses: (request) => listAll(shelf(), 'listLenses', request, summaryOf),
    archiveLens: (request) => archiveOne(shelf(), request),
  };
};

const position = z.string().regex(lensNamePattern).transform(lensName);
const lensIn = (body: BodyOf<'publishLens'>, name: LensName): Lens => ({ ...body, name });
