/** The refusal where no app was named or none is active. Two functions need it, and only one of them bundles the archives of deployments. */
import type { NoApp } from '../../../lib/service/deployments/get-deployments.ts';
import { type Refusal, refuse } from '../operation.ts';

export const refuseNoApp = <Refused extends NoApp>(refused: Refused): Refusal<Refused['kind']> =>
  refused.kind === 'app_required'
    ? refuse(refused.kind, { message: `Several apps have an active deployment. Name one of them: ${refused.apps.join(', ')}.` })
    : refuse(refused.kind);
