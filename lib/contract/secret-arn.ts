/** Configurations name a secret by its whole ARN, with the six characters that Secrets Manager appends, so that a policy grants only that secret. */
export const secretArnPattern = /^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[\w/+=.@-]+-[A-Za-z0-9]{6}$/;

export const secretArnMessage = 'must be the whole ARN of a secret, with the six characters at its end';
