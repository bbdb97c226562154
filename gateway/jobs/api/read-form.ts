import { readUtf8 } from '../../../schemas/input/utf8.js';
import { fieldName } from '../../../schemas/quote.js';
import type { Asked } from './asked.js';
import { readService, readWebhookField } from './job-fields.js';
import type { JobForm } from './job-parts.js';

/** Reads what a form asks for: `service`, `webhook`, fields and files. */
export function readJobForm({ fields, files, problems }: JobForm): Asked {
  const asked: Asked = { files, problems: [...problems] };
  const shared: [string, string][] = [];
  for (const [name, bytes] of fields) {
    const text = readUtf8(bytes, fieldName(name));
    if ('problems' in text) {
      asked.problems.push(...text.problems);
      continue;
    }
    if (name !== 'service' && name !== 'webhook') {
      shared.push([name, text.value]);
      continue;
    }
    // A form's field that was left empty.
    if (name === 'webhook' && text.value === '') continue;
    const read = name === 'service' ? readService(text.value) : readWebhookField(text.value);
    if ('problems' in read) asked.problems.push(...read.problems);
    else if (name === 'service') asked.service = read.value;
    else asked.webhookUrl = read.value;
  }
  const isTold = asked.problems.some(({ field }) => field === 'service');
  if (!fields.has('service') && !isTold) asked.problems.push({ field: 'service', problem: 'is required' });
  asked.fields = shared;
  return asked;
}
