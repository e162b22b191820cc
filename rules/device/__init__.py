"""1xx: device and process setup."""
