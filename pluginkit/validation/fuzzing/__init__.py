"""`pluginkit check --fuzz`: inputs at random to what reads inputs of others: fields, serialized plugins, formats,
shapes."""
