/** How configurations name secrets: by whole ARNs, with the six letters that Secrets Manager appends. Without them a policy would have to name more than one. */
export const secretArnPattern = /^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[\w/+=.@-]+-[A-Za-z0-9]{6}$/;

export const secretArnMessage = 'must be the whole ARN of a secret, with the six letters at its end';
