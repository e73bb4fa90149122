/** The format of the access logs of the three APIs. None has a query, a header or a body, because these can contain tokens. */
import * as apigateway from 'aws-cdk-lib/aws-apigateway';

/** @param fields those of the kind of API, after the fields that all kinds have */
export function accessLogFormat(fields: Readonly<Record<string, string>>): apigateway.AccessLogFormat {
  const { AccessLogField: field } = apigateway;
  return apigateway.AccessLogFormat.custom(
    JSON.stringify({
      requestId: field.contextRequestId(),
      at: field.contextRequestTimeEpoch(),
      ip: field.contextIdentitySourceIp(),
      userAgent: field.contextIdentityUserAgent(),
      ...fields,
    }),
  );
}
