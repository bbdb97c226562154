/** What each limit of a tenant may be, by its name in the API: a whole number, both bounds included. */
export const limitBounds = {
  rate: { min: 0, max: 1_000_000 },
  burst: { min: 0, max: 1_000_000 },
  monthly_quota: { min: 0, max: 1_000_000_000_000 },
  in_flight: { min: 1, max: 10_000 },
} as const;
