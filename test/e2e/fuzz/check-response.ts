/** Checks whether the table of routes allows a response to its request. */
import { type Route, errorsOf } from '../../../lib/api/route.ts';
import { routes } from '../../../lib/api/routes.ts';
import { errorCatalogue } from '../../../lib/api/errors.ts';
import { errorResponse } from '../../../lib/api/schemas/service.ts';
import type { FuzzRequest } from './requests.ts';

export interface FuzzResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
}

/** Valid statuses for an unknown path, by the product or by the gateway. */
const codesWithoutRoute: readonly string[] = ['not_found', 'method_not_allowed', 'invalid_request', 'payload_too_large'];

/** The route of a request; literal segments take precedence over parameters. */
export const routeOf = ({ method, target }: FuzzRequest): Route | undefined => {
  const path = new URL(`http://localhost${target}`).pathname.replace(/\/$/, '');
  const steps = path.split('/');
  const fits = (route: Route): boolean => {
    const wanted = route.path.split('/');
    return (
      wanted.length === steps.length && wanted.every((step, at) => (step.startsWith('{') ? steps[at] !== '' : step === steps[at]))
    );
  };
  const found = routes.filter((route: Route) => route.method === method && fits(route));
  return found.toSorted((one, other) => one.path.split('{').length - other.path.split('{').length)[0];
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The problem of the response; undefined where there is none. */
export const violationOf = (request: FuzzRequest, { status, headers, text }: FuzzResponse): string | undefined => {
  if (status >= 500) return `${status}`;
  if (typeof headers['x-workflow-correlation-id'] !== 'string') return 'no correlation id';
  const route = routeOf(request);
  if (request.method === 'HEAD') return status >= 400 ? undefined : `${status} for HEAD`;
  const body = parse(text);
  if (status < 400) {
    const answer = route?.responses[status];
    if (answer === undefined) return `${status} is no answer of ${route?.operationId ?? 'no route'}`;
    const result = answer.schema.safeParse(body);
    return result.success ? undefined : `${status} of ${route?.operationId} is not in its schema: ${result.error.message}`;
  }
  const error = errorResponse.safeParse(body);
  if (!error.success) return `${status} without the one form of errors: ${error.error.message}`;
  const { code, correlationId } = error.data;
  if (errorCatalogue[code].status !== status) return `${code} with ${status}`;
  if (correlationId !== headers['x-workflow-correlation-id']) return 'two correlation ids';
  const allowed = route === undefined ? codesWithoutRoute : errorsOf(route);
  return allowed.some((one) => one === code) ? undefined : `${code} of ${route?.operationId ?? 'no route'}`;
};
