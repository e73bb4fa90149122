/** API Gateway's own responses, with the template's texts: https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html */
import * as z from 'zod';
import type { Template } from '../template/template.ts';

/** The response types that can occur here, with the status and message that apply where the template sets none. */
const defaultResponses = {
  MISSING_AUTHENTICATION_TOKEN: { status: 403, message: 'Missing Authentication Token' },
  REQUEST_TOO_LARGE: { status: 413, message: 'Request Too Long' },
  INTEGRATION_FAILURE: { status: 504, message: 'Internal server error' },
  INTEGRATION_TIMEOUT: { status: 504, message: 'Endpoint request timed out' },
  /** the function failed, or its result is not a valid response */
  DEFAULT_5XX: { status: 502, message: 'Internal server error' },
} as const;

export type GatewayResponseType = keyof typeof defaultResponses;

interface RenderedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The variables of templates and headers: `requestId` for `$context.requestId`. */
type ContextVariables = Readonly<Record<string, string>>;

export interface GatewayResponses {
  render(type: GatewayResponseType, context: ContextVariables): RenderedResponse;
}

const shape = z.looseObject({
  ResponseType: z.string(),
  StatusCode: z.coerce.number().optional(),
  ResponseParameters: z.record(z.string(), z.string()).default({}),
  ResponseTemplates: z.record(z.string(), z.string()).default({}),
});

const defaultTemplate = '{"message":$context.error.messageString}';
const headerPrefix = 'gatewayresponse.header.';

/** `'text'` is the literal text, `context.name` a variable. */
function headerValue(expression: string, context: ContextVariables): string | undefined {
  if (expression.startsWith("'")) return expression.slice(1, -1);
  return expression.startsWith('context.') ? context[expression.slice('context.'.length)] : undefined;
}

export function readGatewayResponses(template: Template): GatewayResponses {
  const responsesByType = new Map(
    template.of('AWS::ApiGateway::GatewayResponse').map(({ properties }) => {
      const response = shape.parse(properties);
      return [response.ResponseType, response] as const;
    }),
  );
  return {
    render(type, variables) {
      const exactResponse = responsesByType.get(type);
      const { status, message } = defaultResponses[type];
      const response = exactResponse ?? responsesByType.get(status < 500 ? 'DEFAULT_4XX' : 'DEFAULT_5XX');
      const context: ContextVariables = {
        ...variables,
        'error.message': message,
        'error.messageString': JSON.stringify(message),
        'error.responseType': type,
      };
      const headers: Record<string, string> = { 'content-type': 'application/json' };
      for (const [name, expression] of Object.entries(response?.ResponseParameters ?? {})) {
        const value = name.startsWith(headerPrefix) ? headerValue(expression, context) : undefined;
        if (value !== undefined) headers[name.slice(headerPrefix.length)] = value;
      }
      const text = response?.ResponseTemplates['application/json'] ?? defaultTemplate;
      const body = text.replace(/\$context\.([A-Za-z]+(?:\.[A-Za-z]+)*)/g, (_whole, name: string) => context[name] ?? '');
      return { status: response?.StatusCode ?? status, headers, body };
    },
  };
}
