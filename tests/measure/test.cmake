set(libraries tw_measure)
