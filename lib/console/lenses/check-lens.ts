/** Checks a lens with the schema and the rules of the server, while a person types it. */
import '../editor/without-eval.ts';
import { errorsOfIssue } from '../../api/body-errors.ts';
import { publishLensBody } from '../../api/schemas/lenses.ts';
import { jsonPointer } from '../../engine/graph/findings.ts';
import { lensName } from '../../engine/ids.ts';
import type { JsonObject } from '../../engine/json.ts';
import { validateLens } from '../../lens/validate-lens.ts';
import type { ErrorDetail } from '../api.ts';

/** @param published the lens of which the body is the next version; undefined: a new one, whose name may not be typed yet */
export function checkLens(body: JsonObject, published: string | undefined): readonly ErrorDetail[] {
  const result = publishLensBody.safeParse(body);
  if (!result.success) return result.error.issues.flatMap((issue) => errorsOfIssue(issue, (path) => jsonPointer(...path)));
  return validateLens({ ...result.data, name: result.data.name ?? lensName(published ?? 'unnamed') });
}
