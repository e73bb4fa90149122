/** Checks a query with the schema and the rules of the server, while a person types it. */
import '../editor/without-eval.ts';
import { errorsOfIssue } from '../../api/body-errors.ts';
import { publishQueryBody } from '../../api/schemas/queries.ts';
import { jsonPointer } from '../../engine/graph/findings.ts';
import { queryName } from '../../engine/ids.ts';
import type { JsonObject } from '../../engine/json.ts';
import { validateQuery } from '../../engine/query/validate-query.ts';
import type { ErrorDetail } from '../api.ts';

/** @param published the query of which the body is the next version; undefined: a new one, whose name may not be typed yet */
export function checkQuery(body: JsonObject, published: string | undefined): readonly ErrorDetail[] {
  const result = publishQueryBody.safeParse(body);
  if (!result.success) return result.error.issues.flatMap((issue) => errorsOfIssue(issue, (path) => jsonPointer(...path)));
  const { findings } = validateQuery({ ...result.data, name: result.data.name ?? queryName(published ?? 'unnamed') });
  return findings.filter(({ severity }) => severity === 'error');
}
